"""What runs rules, ours or anyone's: values, reading of resources, judging, the gate."""
