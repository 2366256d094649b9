"""Batch and key processing of one cleaning pass: contracts, and the plain-Python twin of the
kernels.
"""
