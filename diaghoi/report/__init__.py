"""Present a result in many forms: text for a terminal, JSON for machines.

Every form is created from the plain mapping of :meth:`diaghoi.Diagnosis.to_dict`, so saved JSON
files can be shown again. Import only the required form: terminals take longer to load than JSON.
"""
