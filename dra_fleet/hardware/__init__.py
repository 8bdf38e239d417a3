"""What is common to machines with accelerators, whoever sells the machine or makes the accelerators."""
