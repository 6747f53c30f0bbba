"""The transparency log over HTTP: the files of C2SP tlog-tiles, proofs read from them, and the state of the log.

Input: the log's tables of a network's store. Output: files, proofs and JSON. Not allowed here: signing.
"""
