"""Log compaction: exact, so that the last record of each key stays, and verified.

    candidates ──► plan ──► survey ──► key map ──► rewrite ──► verify ──► swap
    which log,     values   headers,   last record  .cleaned    before     by the log's
    from, to                retention  of each key  segments    and after  owner alone

One engine for the broker, the command line and distributed work: it reads segments and writes new
ones next to them, without any dependency on the broker. The files of the log change only in the
swap.
"""
