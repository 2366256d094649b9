"""Small files of a log directory: checkpoints, leader epochs, `meta.properties`, clean shutdown."""
