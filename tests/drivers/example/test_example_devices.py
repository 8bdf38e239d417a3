from dra_fleet.drivers.example.driver import Options, example_devices


def test_the_example_driver_publishes_as_many_gpus_as_it_is_reported() -> None:
    first, second = example_devices("n1", Options(count=2))
    assert (first.name, second.name) == ("gpu-0", "gpu-1")
    assert first.to_object()["attributes"]["model"] == {"string": "LATEST-GPU-MODEL"}
    assert first.to_object()["capacity"] == {"compute": {"value": "100"}, "memory": {"value": "80Gi"}}
    assert first.attributes["uuid"] != second.attributes["uuid"]
    assert example_devices("n2", Options(count=1))[0].attributes["uuid"] != first.attributes["uuid"]
