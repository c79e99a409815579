"""Verbs: one implementation per type, found by table in Python and by the compiler in kernels."""

import inspect
from typing import NamedTuple

import numba
import numpy as np
import pytest

import tacit.environments
import tacit.policies.joint_linucb
import tacit.policies.linucb  # noqa: F401  (registers its verbs)
from tacit._kernel import _TABLES, entry, implementation, implements, kernel, verb
from tacit.core.verbs import absorb, choose, encode, pay, release, show
from tacit.noise import fill_normals, fill_uniforms


class Doubling(NamedTuple):
    amount: float


class Shifting(NamedTuple):
    amount: float


class Stranger(NamedTuple):
    amount: float


@verb
def _act_in_a_test(params, values, extra):  # the body of a stub is never run
    """Do something to `values`."""
    raise AssertionError


@implements(_act_in_a_test, Doubling)
@kernel
def _double(params, values, extra):
    for i in range(values.shape[0]):
        values[i] = 2.0 * values[i] * params.amount / 3.0
    return 2


@implements(_act_in_a_test, Shifting)
@kernel
def _shift(params, values, extra):
    for i in range(values.shape[0]):
        values[i] += params.amount / extra
    return 3


@kernel
def _both(one, other, values, extra):
    return 10 * _act_in_a_test(one, values, extra) + _act_in_a_test(other, values, extra)


@kernel
def _inside(params, values, extra):
    return _act_in_a_test(params, values, extra)


@pytest.mark.parametrize("params", [Doubling(0.7), Shifting(0.7)])
def test_python_and_a_kernel_reach_the_same_implementation_to_the_bit(params):
    start = np.random.default_rng(0).normal(size=1000)
    outside, inside, direct = start.copy(), start.copy(), start.copy()
    codes = {
        _act_in_a_test(params, outside, 3.0),
        _inside(params, inside, 3.0),
        implementation(_act_in_a_test, type(params))(params, direct, 3.0),
    }
    assert codes == {{Doubling: 2, Shifting: 3}[type(params)]}
    assert np.array_equal(outside, inside)
    assert np.array_equal(outside, direct)
    assert not np.array_equal(outside, start)


def test_one_kernel_may_use_a_verb_for_several_types():
    values = np.ones(3)
    assert _both(Doubling(1.5), Shifting(4.0), values, 2.0) == 23
    assert values.tolist() == [3.0] * 3


def test_the_dispatch_is_on_the_exact_type():
    class Child(Doubling):
        pass

    with pytest.raises(TypeError, match="got Child"):
        _act_in_a_test(Child(1.0), np.ones(1), 1.0)


def test_a_verb_keeps_its_name_and_its_sentence():
    assert _act_in_a_test.__name__ == "_act_in_a_test"
    assert _act_in_a_test.__doc__ == "Do something to `values`."
    assert _act_in_a_test.__module__ == __name__


@pytest.mark.parametrize("params", [Stranger(1.0), 3.0, None])
def test_a_type_nobody_registered_is_refused_in_python_by_name(params):
    with pytest.raises(TypeError, match=f"Doubling, Shifting.*got {type(params).__name__}"):
        _act_in_a_test(params, np.ones(1), 1.0)


@pytest.mark.parametrize("params", [Stranger(1.0), 3.0, None])
def test_a_type_nobody_registered_is_refused_by_the_compiler_before_anything_runs(params):
    values = np.ones(3)
    with pytest.raises((TypeError, numba.core.errors.NumbaError), match="of a type that implements it"):
        _inside(params, values, 1.0)
    assert values.tolist() == [1.0] * 3


def test_implementation_finds_what_was_registered_and_nothing_else():
    assert implementation(_act_in_a_test, Doubling) is _double
    assert implementation(_act_in_a_test, Stranger) is None


def test_a_kernel_may_be_registered_for_several_types():
    class One(NamedTuple):
        amount: float

    class Two(NamedTuple):
        amount: float

    try:
        implements(_act_in_a_test, One, Two)(_double)
        for kind in (One, Two):
            values = np.ones(2)
            assert _act_in_a_test(kind(3.0), values, 0.0) == 2
            assert values.tolist() == [2.0, 2.0]
    finally:
        for kind in (One, Two):
            del _TABLES["_act_in_a_test"][kind]


def test_division_by_zero_in_a_kernel_is_an_infinity_and_not_an_error():
    values = np.ones(1)
    _act_in_a_test(Shifting(1.0), values, 0.0)
    assert values[0] == np.inf


@pytest.mark.parametrize(
    "action",
    [choose, encode, absorb, release, show, pay, fill_normals, fill_uniforms],
    ids=lambda action: action.__name__,
)
def test_every_implementation_in_the_library_has_the_arguments_of_its_verb(action):
    """The compiler matches them by name: they must be the stub's, in order."""
    wanted = list(inspect.signature(action).parameters)
    table = _TABLES[action.__name__]
    assert table
    for function in table.values():
        assert list(inspect.signature(function.py_func).parameters) == wanted


def test_an_implementation_is_never_replaced():
    before = implementation(_act_in_a_test, Doubling)
    with pytest.raises(TypeError, match="got Doubling, which is tacit's or has an implementation already"):
        implements(_act_in_a_test, Doubling)(_shift)
    assert implementation(_act_in_a_test, Doubling) is before


def test_nobody_outside_implements_a_verb_for_a_type_of_ours():
    """Its machine code would be kept under our hash, and run in processes that never heard of it."""
    from tacit.policies.linear import Linear

    with pytest.raises(TypeError, match="got Linear"):
        implements(_act_in_a_test, Linear)(_shift)
    assert implementation(_act_in_a_test, Linear) is None


class Room(NamedTuple):
    sums: np.ndarray


def test_other_argument_names_are_refused_when_it_is_registered():
    @kernel
    def wrong(params, numbers, extra):
        return 0

    with pytest.raises(TypeError, match=r"`_act_in_a_test\(params, values, extra\)`, got .*wrong\(params, numbers, "):
        implements(_act_in_a_test, Stranger)(wrong)
    assert implementation(_act_in_a_test, Stranger) is None


def test_a_field_the_params_do_not_have_is_refused_when_it_is_registered():
    @kernel
    def wrong(params, values, extra):
        values[0] = params.amuont

    with pytest.raises(TypeError, match=r"fields of Stranger \(amount\), got `params.amuont`\.$") as refused:
        implements(_act_in_a_test, Stranger)(wrong)
    assert "\n" not in str(refused.value)
    assert implementation(_act_in_a_test, Stranger) is None


def test_a_field_that_a_declared_vault_does_not_have_is_refused_when_it_is_registered():
    @kernel
    def wrong(params, values: Room, extra):
        values.suns[0] = params.amount

    with pytest.raises(TypeError, match=r"fields of Room \(sums\), got `values.suns`"):
        implements(_act_in_a_test, Stranger)(wrong)


def test_a_field_that_an_undeclared_vault_does_not_have_is_one_line_when_it_is_compiled():
    class Misreading(NamedTuple):
        amount: float

    @implements(_act_in_a_test, Misreading)
    @kernel
    def wrong(params, values, extra):
        values.suns[0] = params.amount

    try:
        with pytest.raises(TypeError, match="Expected a field that Room has, got `suns`, on the way from") as refused:
            entry(_inside, Misreading(1.0), Room(np.ones(2)), 1.0)
        assert "\n" not in str(refused.value)
    finally:
        del _TABLES["_act_in_a_test"][Misreading]
