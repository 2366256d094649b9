"""Every port and each of its methods has a docstring with its contract."""

import inspect

from cordwood.core import ports


def test_every_method_of_a_port_has_a_contract() -> None:
    protocols = [
        value
        for value in vars(ports).values()
        if getattr(value, "_is_protocol", False) and value.__module__ == ports.__name__
    ]

    silent = [
        f"{port.__name__}.{name}"
        for port in protocols
        for name, member in vars(port).items()
        if not name.startswith("_")
        and (inspect.isfunction(member) or isinstance(member, property))
        and not member.__doc__
    ]

    assert len(protocols) == 12
    assert silent == []
