"""Pictures of a partition's log: its facts, and drawings of them as text and as SVG."""
