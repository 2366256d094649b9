"""Compaction: of each key the last record stays, exactly; what went, and what stayed, is proven.

    choosing, grouping ──► plan ──► survey ──► key map ──► rewrite ──► verify ──► swap
    which log, up to       values   headers,   last record  .cleaned    before     by the log's
    where, in which groups          fates      of each key  segments    and after  owner alone

One engine for the broker, the command line and distributed work: it reads segments, writes new ones
beside them, and knows nothing of a broker. Nothing that was there is changed until the swap.
"""
