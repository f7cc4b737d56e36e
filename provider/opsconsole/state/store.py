"""The objects of a state as text, by address, and the text of the resources they make up.

Nothing here decodes what an object holds.
"""

from __future__ import annotations

from collections.abc import Iterator

from opsconsole.state.addresses import Address
from opsconsole.state.layout import join_fields, quote, split_fields
from opsconsole.state.parse import INSTANCES, ObjectKey, Resource, ResourceKey


class ObjectStore:
    """Every resource of a state; ordered as core orders them when it writes."""

    def __init__(self, resources: dict[ResourceKey, Resource]) -> None:
        self._resources = resources
        self._sorted: list[ResourceKey] | None = None

    def __len__(self) -> int:
        return sum(len(resource.objects) for resource in self._resources.values())

    def __bool__(self) -> bool:
        return bool(self._resources)

    def text(self, address: Address, deposed: str = "") -> str | None:
        """Return the text of an object, or None."""
        resource = self._resources.get(_key(address))
        return resource.objects.get((address.key, deposed)) if resource else None

    def provider(self, address: Address) -> str:
        """Return the provider's address of a resource; empty where there is none."""
        resource = self._resources.get(_key(address))
        return resource.provider if resource else ""

    def deposed(self, address: Address) -> tuple[str, ...]:
        """Return the deposed keys of an instance, sorted."""
        resource = self._resources.get(_key(address))
        keys = resource.objects if resource else ()
        return tuple(sorted(mark for key, mark in keys if mark and key == address.key))

    def addresses(self) -> Iterator[Address]:
        """Yield the address of every instance once, in core's order."""
        for resource_key in self._order():
            module, mode, type_name, name = resource_key
            for key in dict.fromkeys(key for key, _ in _ordered(self._resources[resource_key])):
                yield Address(type_name, name, key, module, mode)

    def objects(self) -> Iterator[tuple[Address, str]]:
        """Yield address and deposed key of every object, in core's order."""
        for resource_key in self._order():
            module, mode, type_name, name = resource_key
            for key, deposed in _ordered(self._resources[resource_key]):
                yield Address(type_name, name, key, module, mode), deposed

    def set(self, address: Address, deposed: str, provider: str, text: str | None) -> bool:
        """Set or, with None, remove an object; return whether that changed anything."""
        key = _key(address)
        resource = self._resources.get(key)
        if text is None:
            if resource is None or resource.objects.pop((address.key, deposed), None) is None:
                return False
            if not resource.objects:
                del self._resources[key]
                self._sorted = None
            return True
        if resource is None:
            resource = self._resources[key] = _new_resource(key, provider)
            self._sorted = None
        elif resource.provider != provider:
            _set_provider(resource, provider)
        elif resource.objects.get((address.key, deposed)) == text:
            return False
        resource.objects[address.key, deposed] = text
        return True

    def copy(self) -> ObjectStore:
        """Return a store that can be edited without this one noticing."""
        return ObjectStore(
            {
                key: Resource(item.provider, item.head, item.tail, dict(item.objects))
                for key, item in self._resources.items()
            }
        )

    def pieces(self) -> list[str]:
        """Return the text of the array of resources, in pieces."""
        if not self._resources:
            return ["[]"]
        pieces: list[str] = []
        opening = "[\n    "
        for key in self._order():
            resource = self._resources[key]
            pieces += (opening, resource.head)
            opening = ",\n    "
            inner = "[\n        "
            for object_key in _ordered(resource):
                pieces += (inner, resource.objects[object_key])
                inner = ",\n        "
            pieces += ("\n      ]" if resource.objects else "[]", resource.tail)
        pieces.append("\n  ]")
        return pieces

    def _order(self) -> list[ResourceKey]:
        if self._sorted is None:
            self._sorted = sorted(self._resources)
        return self._sorted


def _key(address: Address) -> ResourceKey:
    return address.module, address.mode, address.type, address.name


def _ordered(resource: Resource) -> list[ObjectKey]:
    """Return the keys as core sorts them: none, numbers, texts; the current object first."""
    if len(resource.objects) < 2:
        return list(resource.objects)
    return sorted(resource.objects, key=_rank)


def _rank(key: ObjectKey) -> tuple[int, int, str, str]:
    index, deposed = key
    if index is None:
        return 0, 0, "", deposed
    return (1, index, "", deposed) if isinstance(index, int) else (2, 0, index, deposed)


def _new_resource(key: ResourceKey, provider: str) -> Resource:
    module, mode, type_name, name = key
    fields = [("module", module)] if module else []
    fields += [("mode", mode), ("type", type_name), ("name", name), ("provider", provider)]
    quoted = join_fields([(field, quote(value)) for field, value in fields], 4)
    return Resource(provider, f"{quoted.removesuffix(_END)},{INSTANCES}", _END)


def _set_provider(resource: Resource, provider: str) -> None:
    fields = split_fields(f"{resource.head}[]{resource.tail}", 4)
    text = join_fields({**fields, "provider": quote(provider)}.items(), 4)
    before, after = text.split(f"{INSTANCES}[]", 1)
    resource.provider, resource.head, resource.tail = provider, f"{before}{INSTANCES}", after


_END = "\n    }"
