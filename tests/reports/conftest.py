"""A plan and a drift report that hold every kind of thing, and an error."""

import pytest

from fleet_reports import make_plan, make_report
from opsconsole.diagnostics import Diagnostic, error
from opsconsole.drift.model import DriftReport
from opsconsole.reconcile.plan import Plan


@pytest.fixture(scope="session")
def plan() -> Plan:
    return make_plan()


@pytest.fixture(scope="session")
def report() -> DriftReport:
    return make_report()


@pytest.fixture
def failure() -> Diagnostic:
    return error("The console refuses the key", "Status 401, code UNAUTHORIZED.")
