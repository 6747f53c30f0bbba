"""The transparency log of an archive: records of complete milestones → tiles, a signed checkpoint.

Input: the records of the store (db/queries), the files of the log in the lake. Output: more files, the same tiles as
rows of the store. Also compares the logs of other archives over HTTP. Not allowed here: computing records.
"""
