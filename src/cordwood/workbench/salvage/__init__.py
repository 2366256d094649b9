"""Recovery of readable records from a damaged partition into a new directory."""
