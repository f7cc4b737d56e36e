"""A console for development, the demo and tests, built from the API document.

The emulator knows nothing of the provider and follows only the document. Everything that the
document calls "not shown" is a switch.
"""

from __future__ import annotations

from opsconsole.emulator.control import ControlError, Emulator
from opsconsole.emulator.profiles import Profile, profiles
from opsconsole.emulator.seed import API_KEY
from opsconsole.emulator.server import serve, spawn

__all__ = ["API_KEY", "ControlError", "Emulator", "Profile", "profiles", "serve", "spawn"]
