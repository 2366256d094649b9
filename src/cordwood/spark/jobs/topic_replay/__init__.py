"""The job `replay`: the records of a topic sent again to another topic."""
