"""Present a result in many forms, such as text for a terminal or JSON for machines.

Every form is created from the plain mapping of :meth:`diaghoi.Diagnosis.to_dict`, so saved JSON
files can be shown again. Import only the form that you need: terminal output takes longer to load
than JSON.
"""
