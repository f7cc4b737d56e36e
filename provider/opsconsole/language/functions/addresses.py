"""Functions on address ranges."""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network, ip_network

from opsconsole.language.failures import EvaluationError, UnsupportedExpression
from opsconsole.language.functions.collections import LIST_OF_TEXT, require_integer
from opsconsole.language.functions.registry import Signature
from opsconsole.language.numbers import Number
from opsconsole.language.values import NUMBER, STRING

Network = IPv4Network | IPv6Network
_RANGE = re.compile(r"[0-9a-fA-F.:]+/[0-9]+")
_ZEROS = re.compile(r"\b0+(?=[0-9a-fA-F])")


def _network(text: str) -> Network:
    try:
        if not _RANGE.fullmatch(text):
            raise ValueError(text)
        # Terraform reads 010 as 10; Python refuses leading zeros.
        return ip_network(_ZEROS.sub("", text), strict=False)
    except ValueError as error:
        raise EvaluationError(f'"{text}" is not an address range') from error


def _divisible(text: str) -> Network:
    network = _network(text)
    if isinstance(network, IPv6Network) and network.network_address.ipv4_mapped is not None:
        raise UnsupportedExpression("addresses of IPv4 that are written as IPv6")
    return network


def _subnet(network: Network, bits: int, number: int) -> Network:
    length = network.prefixlen + bits
    if bits < 0:
        raise UnsupportedExpression("a subnet with a shorter prefix")
    if length > network.max_prefixlen:
        raise EvaluationError(f"the prefix cannot be extended by {bits} bits")
    if number < 0:
        raise UnsupportedExpression("a negative subnet number")
    if number >= 2**bits:
        raise EvaluationError(f"{bits} bits cannot hold the subnet number {number}")
    start = int(network.network_address) + (number << (network.max_prefixlen - length))
    return type(network)((start, length))


@Signature("cidrhost", (STRING, NUMBER))
def _cidrhost(prefix: str, number: Number) -> str:
    network = _divisible(prefix)
    position = require_integer(number, large=True)
    size = network.num_addresses
    if position >= max(size, 2**63):
        raise UnsupportedExpression("a host number of more than 63 bits")
    if not -size <= position < size:
        raise EvaluationError(f"the range has no host number {position}")
    offset = position + size if position < 0 else position
    start = int(network.network_address) + offset
    return str(type(network.network_address)(start))


@Signature("cidrnetmask", (STRING,))
def _cidrnetmask(prefix: str) -> str:
    network = _network(prefix)
    # An IPv4 address in IPv6 notation counts as IPv4.
    if network.version != 4 and network.network_address.ipv4_mapped is None:
        raise EvaluationError("only IPv4 has netmasks")
    return str(network.netmask)


@Signature("cidrsubnet", (STRING, NUMBER, NUMBER))
def _cidrsubnet(prefix: str, bits: Number, number: Number) -> str:
    return str(
        _subnet(_divisible(prefix), require_integer(bits), require_integer(number, large=True))
    )


@Signature("cidrsubnets", (STRING,), rest=NUMBER, returns=LIST_OF_TEXT)
def _cidrsubnets(prefix: str, *bits: Number) -> list[str]:
    network = _divisible(prefix) if bits else _network(prefix)
    position = int(network.network_address)
    subnets = []
    for extra in map(require_integer, bits):
        length = network.prefixlen + extra
        if not 1 <= extra <= 32 or length > network.max_prefixlen:
            raise EvaluationError(f"the prefix cannot be extended by {extra} bits")
        size = 1 << (network.max_prefixlen - length)
        # A range begins at a multiple of its own size.
        position = -(-position // size) * size
        if position + size > int(network.network_address) + network.num_addresses:
            raise EvaluationError("there is not enough address space left")
        subnets.append(f"{type(network.network_address)(position)}/{length}")
        position += size
    return subnets
