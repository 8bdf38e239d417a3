"""Facts as data: YAML files whose entries name their source and date, read by one loader."""
