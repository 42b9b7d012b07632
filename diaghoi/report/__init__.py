"""Present a result in many forms: text for a terminal, JSON for machines.

Every form is made from the plain mapping of :meth:`diaghoi.Diagnosis.to_dict`, so that saved JSON
files can be shown again. Import the form that is needed: terminals take longer to load than JSON.
"""
