"""Proofs that a listing is complete: row ids in, roots of intervals, proofs and their verification out.

Input: the row ids of each listing key in each interval of milestones, and a log that contains the roots. Output: a JSON
document that proves a page of a listing, and the claims that such a document supports.

Not allowed: I/O, knowledge of a store or an engine, and anything in a hash that is not a function of the ledger.
"""
