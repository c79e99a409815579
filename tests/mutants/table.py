"""The slips: in which file of the package, which text, what instead, and which tests must fail because of it.

The old text must stand in its file exactly once, and the tests must exist: a test of the suite checks both, so that
the table cannot rot. Tests are narrow: one mutant should take seconds.
"""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """One slip."""

    name: str
    file: str  # within src/tacit
    old: str
    new: str
    tests: tuple[str, ...]
    compiled: bool = False  # whether its tests need machine code


ORACLE = "tests/privacy/test_oracle.py::test_no_event_is_cheaper_than_the_other_accountant_finds"
LEDGER = "tests/privacy/test_ledger.py"
LAWS = "tests/laws/test_privacy_laws.py"


def _oracle(*cases: str) -> tuple[str, ...]:
    return tuple(f"{ORACLE}[{case}]" for case in cases)


_PRICES = (
    Mutant(
        "a tree costs its nodes and not their root",
        "privacy/accountant.py",
        "return event.sensitivity * math.sqrt(event.nodes) / event.scale",
        "return event.sensitivity / event.scale",
        _oracle("tree"),
    ),
    Mutant(
        "a person in a tree without the remainder of a level",
        "privacy/accountant.py",
        "(rounds >> level) * 4**level + (rounds % 2**level) ** 2 for",
        "(rounds >> level) * 4**level for",
        _oracle("tree, five rows"),
    ),
    Mutant(
        "a person in a tree counted at 2 to the level",
        "privacy/accountant.py",
        "(rounds >> level) * 4**level +",
        "(rounds >> level) * 2**level +",
        _oracle("tree, two rows", "tree, five rows"),
    ),
    Mutant(
        "a toeplitz release less",
        "privacy/accountant.py",
        "return event.design.column_norm(event.releases) * event.sensitivity",
        "return event.design.column_norm(max(1, event.releases - 1)) * event.sensitivity",
        _oracle("toeplitz"),
    ),
    Mutant(
        "rows of a person in one segment priced as if apart",
        "privacy/accountant.py",
        'if event.rows_per_release == "many" and not one_per_segment:',
        'if event.rows_per_release == "many" and one_per_segment:',
        _oracle("toeplitz, rows in one segment"),
    ),
    Mutant(
        "the root toeplitz price without its column",
        "privacy/accountant.py",
        "return square_root_norm(event.releases) * event.sensitivity / event.scale",
        "return event.sensitivity / event.scale",
        _oracle("root"),
    ),
    Mutant(
        "segments of a person priced as if always apart",
        "privacy/accountant.py",
        "return (math.sqrt(rounds) if one_per_segment else rounds) * price(event)",
        "return math.sqrt(rounds) * price(event)",
        _oracle("segments, rows together"),
    ),
    Mutant(
        "reports of a device priced as one",
        "privacy/accountant.py",
        "return math.sqrt(event.reports) * event.sensitivity / event.scale",
        "return event.sensitivity / event.scale",
        _oracle("reports"),
    ),
    Mutant(
        "reports of a person priced as one",
        "privacy/accountant.py",
        'wherever they fall."""\n    return math.sqrt(rounds) * price(event)',
        'wherever they fall."""\n    return price(event)',
        _oracle("reports, a person"),
    ),
    Mutant(
        "of several releases only the dearest counts",
        "privacy/accountant.py",
        "return math.hypot(*(price(part) for part in event.events))",
        "return max(price(part) for part in event.events)",
        _oracle("together"),
    ),
    Mutant(
        "of several releases of a person only the dearest counts",
        "privacy/accountant.py",
        "return math.hypot(*(price_for_person(part, rounds, one_per_segment) for part in event.events))",
        "return max(price_for_person(part, rounds, one_per_segment) for part in event.events)",
        _oracle("together, a person"),
    ),
    Mutant(
        "copies cost nothing",
        "privacy/accountant.py",
        "return math.sqrt(event.copies) * price(event.event)",
        "return price(event.event)",
        _oracle("forked"),
    ),
    Mutant(
        "copies of a theorem cost nothing",
        "privacy/accountant.py",
        "return None if one is None else one.composed(event.copies)",
        "return one",
        _oracle("laplace, forked"),
    ),
    Mutant(
        "rounding to a lattice counts in one world only",
        "privacy/accountant.py",
        "return mu + 2 * event.rounding * math.sqrt(numbers)",
        "return mu + event.rounding * math.sqrt(numbers)",
        ("tests/privacy/test_lattice_event.py::test_a_lattice_costs_its_rounding_and_little_else",),
    ),
    Mutant(
        "discrete noise priced as wider than it is",
        "privacy/accountant.py",
        "scale=math.sqrt((inner.scale - smoothed) * (inner.scale + smoothed))",
        "scale=inner.scale + smoothed",
        _oracle("lattice"),
    ),
    Mutant(
        "a row on a lattice is in one release of a tree",
        "privacy/accountant.py",
        "return 2 * rounds * event.nodes",
        "return 1",
        ("tests/privacy/test_lattice_event.py::test_a_lattice_costs_its_rounding_and_little_else",),
    ),
    Mutant(
        "Laplace sums of a row priced as one",
        "privacy/accountant.py",
        "epsilon = event.releases * event.sensitivity / event.scale",
        "epsilon = event.sensitivity / event.scale",
        _oracle("laplace, in three sums"),
    ),
    Mutant(
        "rows of a person under Laplace noise priced as one",
        "privacy/accountant.py",
        "return theorem_for(replace(one, releases=rounds * one.releases))",
        "return theorem_for(one)",
        _oracle("laplace, a person"),
    ),
    Mutant(
        "draws by score priced as one",
        "privacy/accountant.py",
        "return Theorem(event.draws * event.epsilon, 0.0,",
        "return Theorem(event.epsilon, 0.0,",
        _oracle("draws, two"),
    ),
    Mutant(
        "rows of a person in draws by score priced as one",
        "privacy/accountant.py",
        "return theorem_for(replace(one, epsilon=rounds * one.epsilon))",
        "return theorem_for(one)",
        _oracle("draws, a person"),
    ),
    Mutant(
        "reports of a person in a batch priced as one",
        "privacy/accountant.py",
        "return theorem_for(replace(one, reports=rounds * one.reports))",
        "return theorem_for(one)",
        _oracle("binomial, a person"),
    ),
    Mutant(
        "part of an honest report counted as a whole one",
        "privacy/event/reports.py",
        "return max(1, math.floor(self.honest * self.batch))",
        "return max(1, math.ceil(self.honest * self.batch))",
        ("tests/privacy/test_reports.py::test_only_whole_honest_reports_are_counted_and_ones_own_always",),
    ),
    Mutant(
        "the Wishart composition without its second term",
        "privacy/accountant.py",
        "total = each * math.sqrt(2 * nodes * tail) + nodes * each * math.expm1(each)",
        "total = each * math.sqrt(2 * nodes * tail)",
        (
            "tests/policies/test_published.py"
            "::test_wishart_is_bound_by_theorem_and_its_card_leaves_the_true_epsilon_open",
        ),
    ),
    Mutant(
        "a Wishart mask of fewer degrees than the theorem asks for",
        "privacy/accountant.py",
        "least = 28 * math.log(8 * nodes / event.promise_delta) / each**2",
        "least = 28 * math.log(nodes / event.promise_delta) / each",
        ("tests/privacy/test_theorem.py::test_too_few_degrees_of_freedom_are_not_covered",),
    ),
)

_CURVES = (
    Mutant(
        "delta of a Gaussian without its second half",
        "privacy/gdp.py",
        "return log_density + math.log(_mills(x) - _mills(y))",
        "return log_density + math.log(_mills(x) - _mills(2 * y))",
        _oracle("gaussian"),
    ),
    Mutant(
        "epsilon of a Gaussian covered by twice its delta",
        "privacy/gdp.py",
        "if math.erf(mu / math.sqrt(8)) <= delta:",
        "if math.erf(mu / math.sqrt(8)) <= 2 * delta:",
        ("tests/privacy/test_gdp.py::test_delta_alone_can_cover_a_release",),
    ),
    Mutant(
        "the search for epsilon ends on the wrong side",
        "privacy/gdp.py",
        "            return inside\n        if holds(middle):",
        "            return outside\n        if holds(middle):",
        ("tests/privacy/test_gdp.py::test_mu_for_is_on_the_safe_side_and_tight",),
    ),
    Mutant(
        "rho of a Gaussian halved",
        "privacy/rdp.py",
        '    shift = cost("mu", mu)\n    return shift * shift / 2',
        '    shift = cost("mu", mu)\n    return shift * shift / 4',
        ("tests/privacy/test_rdp.py::test_the_renyi_divergence_is_that_of_two_shifted_normals",),
    ),
    Mutant(
        "rho of pure privacy halved",
        "privacy/rdp.py",
        '    pure = cost("epsilon", epsilon)\n    return pure * pure / 2',
        '    pure = cost("epsilon", epsilon)\n    return pure * pure / 4',
        ("tests/privacy/test_rdp.py::test_pure_privacy_bounds_the_divergence_of_the_two_laws_that_just_have_it",),
    ),
    Mutant(
        "one order to epsilon with a term dropped",
        "privacy/rdp.py",
        "math.log1p(-1 / order) - math.log(order * failure) / (order - 1))",
        "math.log1p(-1 / order) - math.log(order * failure) / order)",
        ("tests/privacy/test_rdp.py::test_the_conversion_is_the_published_formula",),
    ),
    Mutant(
        "rho of a draw by score at a ninth",
        "privacy/currencies.py",
        "return move * move / 8",
        "return move * move / 9",
        ("tests/privacy/test_exponential_event.py::test_no_draw_diverges_by_more_than_an_eighth_of_its_squared_range",),
    ),
    Mutant(
        "mu of a draw by score a tenth too small",
        "privacy/currencies.py",
        "return math.sqrt(2 * math.pi) / 4 * cost",
        "return 0.9 * math.sqrt(2 * math.pi) / 4 * cost",
        (
            "tests/privacy/test_exponential_event.py"
            "::test_no_test_tells_neighbours_apart_better_than_a_gaussian_of_that_mu",
        ),
    ),
    Mutant(
        "pure privacy taken for a bounded range",
        "privacy/currencies.py",
        "mu = bounded_range_to_mu(2 * theorem.epsilon)",
        "mu = bounded_range_to_mu(theorem.epsilon)",
        ("tests/privacy/test_exponential_event.py::test_other_pure_events_cost_what_pure_dp_implies",),
    ),
    Mutant(
        "calibration that stops one step early",
        "privacy/calibrate.py",
        "if attempt > 0 and cost <= target and kept_by(cost):",
        "if attempt > 0:",
        ("tests/privacy/test_calibrate.py::test_a_price_that_is_not_inversely_proportional_still_ends_safe",),
    ),
    Mutant(
        "a report without the factor 2 of a replaced action",
        "privacy/sensitivity.py",
        "return math.hypot(2 * radius, high - low)",
        "return math.hypot(radius, high - low)",
        (
            "tests/privacy/test_sensitivity.py"
            "::test_no_pair_of_reports_is_further_apart_than_its_sensitivity_and_some_pair_is_as_far",
        ),
    ),
    Mutant(
        "a gram report without its products with constants",
        "privacy/sensitivity.py",
        "+ area * (2 * public + y * y + other * other)",
        "+ area * (y * y + other * other)",
        (
            "tests/privacy/test_sensitivity.py"
            "::test_no_pair_of_reports_is_further_apart_than_its_sensitivity_and_some_pair_is_as_far",
        ),
    ),
    Mutant(
        "a gram report whose cosine is left out",
        "privacy/sensitivity.py",
        "+ 2 * area * cosine * cross",
        "",
        (
            "tests/privacy/test_sensitivity.py"
            "::test_no_pair_of_reports_is_further_apart_than_its_sensitivity_and_some_pair_is_as_far",
        ),
    ),
    Mutant(
        "twice as many to hide among as there are",
        "privacy/shuffle.py",
        "betaincc(np.maximum(clones, 1.0), reports - clones, rare)",
        "betaincc(np.maximum(clones, 1.0), 2 * reports - clones, rare)",
        ("tests/privacy/test_shuffle.py::test_the_bound_is_the_expected_hockey_stick",),
    ),
    Mutant(
        "the failures of others in a batch forgotten",
        "privacy/shuffle.py",
        "limit = log_delta - math.log(reports) - epsilon - math.log1p(math.exp(-epsilon))",
        "limit = log_delta - epsilon - math.log1p(math.exp(-epsilon))",
        ("tests/privacy/test_shuffle.py::test_the_bound_pays_for_the_failure_of_every_report",),
    ),
    Mutant(
        "a group of reports in a batch at the delta of one",
        "privacy/shuffle.py",
        "limit = math.log(delta) - math.log(group)",
        "limit = math.log(delta)",
        ("tests/privacy/test_shuffle.py::test_several_reports_are_a_group",),
    ),
    Mutant(
        "the tails of a binomial for one coordinate only",
        "privacy/binomial.py",
        "tails = [share * delta / (2 * reports * coordinates) for share in _SHARES]",
        "tails = [share * delta / 2 for share in _SHARES]",
        (
            "tests/privacy/test_binomial.py::test_the_tails_of_all_coordinates_and_rows_stay_within_their_share_of_delta",
        ),
    ),
    Mutant(
        "binomial noise without the rounding of rows",
        "privacy/binomial.py",
        "mu = reports * (step * sensitivity + slack * math.sqrt(coordinates)) * (1 + ROUNDING)",
        "mu = reports * (step * sensitivity) * (1 + ROUNDING)",
        ("tests/privacy/test_binomial.py::test_no_neighbours_are_easier_to_tell_apart_than_certified",),
    ),
    Mutant(
        "binomial noise for one row of a person",
        "privacy/binomial.py",
        "mu = reports * (step * sensitivity + slack",
        "mu = (step * sensitivity + slack",
        _oracle("binomial, a person"),
    ),
)

_BOOKS = (
    Mutant(
        "a ledger that does not charge",
        "privacy/ledger.py",
        "self._spent = _Spent((*before.events, event), totals, composition, ways)",
        "self._spent = _Spent((*before.events, event), before.totals, composition, ways)",
        (f"{LEDGER}::test_pure_epsilons_add_up_to_the_promise_and_no_further",),
    ),
    Mutant(
        "a ledger with a thousandth of slack",
        "privacy/ledger.py",
        "_ROUNDING = Fraction(1, 10**12)",
        "_ROUNDING = Fraction(1, 10**3)",
        ("tests/privacy/test_ledger.py::test_pure_epsilons_add_up_to_the_promise_and_no_further",),
    ),
    Mutant(
        "a ledger that picks the cheapest way afterwards",
        "privacy/ledger.py",
        'if composition in (None, name) or name == "pure"}',
        "if True}",
        ("tests/privacy/test_ledger.py::test_concentrated_accounting_would_refuse_what_the_curve_allows",),
    ),
    Mutant(
        "a ledger without a promise that lets events pass",
        "privacy/ledger.py",
        "        if not fitting:\n            self._refuse(before, totals)",
        "        if not fitting and self._promise is not None:\n            self._refuse(before, totals)",
        (f"{LEDGER}::test_without_a_budget_nothing_can_be_spent",),
    ),
    Mutant(
        "a ledger that can be copied",
        "privacy/ledger.py",
        "    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:",
        "    def unused(self, protocol: SupportsIndex) -> NoReturn:",
        (f"{LEDGER}::test_a_budget_cannot_be_spent_twice_by_copying_the_ledger",),
    ),
    Mutant(
        "the person limit off by one",
        "core/people.py",
        "if rows >= self.limit or",
        "if rows > self.limit or",
        ("tests/core/test_people.py::test_a_person_is_learned_from_at_most_k_times",),
    ),
    Mutant(
        "a person learned from twice in a segment",
        "core/people.py",
        "self._last[token] = segment\n        return True",
        "self._last[token] = segment + 1\n        return True",
        ("tests/core/test_people.py::test_one_row_per_segment_drops_the_second_and_does_not_count_it",),
    ),
    Mutant(
        "people kept without a secret of the learner",
        "core/people.py",
        "digest_size=TOKEN, key=self._secret).digest()",
        "digest_size=TOKEN).digest()",
        ("tests/core/test_people.py::test_ids_are_not_kept_and_tokens_differ_between_learners",),
    ),
    Mutant(
        "people forgotten by a checkpoint",
        "core/people.py",
        'people._rows = dict(zip(tokens, arrays["rows"].tolist(), strict=True))',
        "people._rows = dict.fromkeys(tokens, 0)",
        ("tests/core/test_people.py::test_people_travel_as_arrays",),
    ),
    Mutant(
        "a decision that stays open after its reward",
        "core/decisions.py",
        "        del self._kept[identity]",
        "        pass",
        ("tests/core/test_decisions.py::test_a_second_reward_is_refused_whatever_it_says",),
    ),
    Mutant(
        "ids of decisions that tell how many came before",
        "core/decisions.py",
        "return (tag + (number ^ _mask(key, tag)).to_bytes(_NUMBER)).hex()",
        "return (tag + number.to_bytes(_NUMBER)).hex()",
        ("tests/core/test_decisions.py::test_ids_do_not_tell_how_many_came_before",),
    ),
    Mutant(
        "a fork that goes on with the ids of its siblings",
        "core/checkpoint.py",
        "    learner._decisions.turn_key()\n",
        "",
        ("tests/core/test_forks.py::test_copies_know_the_decisions_of_their_past_and_not_those_of_each_other",),
    ),
    Mutant(
        "copies of a checkpoint not counted",
        "core/checkpoint.py",
        "copies = learner._copies + uses",
        "copies = learner._copies",
        ("tests/core/test_forks.py::test_a_fork_is_priced_for_all_copies_and_says_so",),
    ),
    Mutant(
        "a use of a checkpoint not written down",
        "core/checkpoint.py",
        "write(target, seal(replace(header, uses=uses + 1), payload, key))",
        "write(target, seal(replace(header, uses=uses), payload, key))",
        ("tests/core/test_checkpoint.py::test_the_file_counts_its_uses_under_a_fresh_nonce",),
    ),
    Mutant(
        "a copied checkpoint not recognised",
        "core/checkpoint.py",
        "_RESUMED[header.checkpoint] = uses + 1",
        "_RESUMED[header.checkpoint] = 0",
        ("tests/core/test_checkpoint.py::test_a_copy_of_the_file_is_recognised_in_one_process",),
    ),
    Mutant(
        "a learner that works on after its checkpoint",
        "core/checkpoint.py",
        "    learner._moved = not keep_running\n",
        "    learner._moved = False\n",
        ("tests/core/test_checkpoint.py::test_a_learner_that_moved_refuses_to_work",),
    ),
    Mutant(
        "a fork of a seeded learner on the old stream",
        "core/checkpoint.py",
        "session.read_anew(learner._seed, 0, FORK, copies, int(session.vault.counters[ROWS]))",
        "session.read_from(session.noise)",
        ("tests/core/test_forks.py::test_copies_do_not_share_noise",),
    ),
    Mutant(
        "forks at different times on one stream",
        "core/checkpoint.py",
        "FORK, copies, int(session.vault.counters[ROWS]))",
        "FORK, copies)",
        ("tests/core/test_forks.py::test_forks_at_different_times_do_not_share_noise",),
    ),
    Mutant(
        "a checkpoint whose header is not sealed with it",
        "core/sealed.py",
        "AESGCM(key).encrypt(nonce, payload, open_part)",
        "AESGCM(key).encrypt(nonce, payload, None)",
        ("tests/core/test_sealed.py::test_what_is_sealed_opens_again",),
    ),
    Mutant(
        "a nonce used twice",
        "core/sealed.py",
        "    nonce = secrets.token_bytes(_NONCE)\n    return open_part",
        "    nonce = bytes(_NONCE)\n    return open_part",
        ("tests/core/test_sealed.py::test_sealing_twice_never_gives_the_same_bytes",),
    ),
    Mutant(
        "the price of copies that the plan leaves out",
        "core/plan.py",
        "return copies > 1 and self.guarantee.trust is not Trust.LOCAL",
        "return False",
        ("tests/privacy/test_forks.py::test_a_plan_prices_its_copies_together_and_leaves_a_single_learner_alone",),
    ),
    Mutant(
        "noise kept in a child process",
        "core/session.py",
        "        self.noise.normals.fill(np.nan)\n        self.noise.uniforms.fill(np.nan)\n"
        "        self.read_from(self.new_source())\n\n    def new_source",
        "        pass\n\n    def new_source",
        ("tests/core/test_process_forks.py::test_noise_that_lies_ready_is_used_in_one_process_only",),
        True,
    ),
    Mutant(
        "a child's session that does not hear of the fork",
        "core/session.py",
        "        self.read_from(source)\n        forks.watch(self)",
        "        self.read_from(source)",
        ("tests/core/test_process_forks.py::test_noise_that_lies_ready_is_used_in_one_process_only",),
        True,
    ),
    Mutant(
        "a learner at work that goes on in a child",
        "core/learner.py",
        "            self._moved = self._forked = True\n        else:",
        "            pass\n        else:",
        ("tests/core/test_process_forks.py::test_a_learner_at_work_stays_with_the_process_that_started_it",),
        True,
    ),
    Mutant(
        "ids of decisions shared by two processes",
        "core/learner.py",
        "            self._decisions.turn_key()\n\n    def _refuse_round",
        "            pass\n\n    def _refuse_round",
        (
            "tests/core/test_process_forks.py"
            "::test_a_learner_that_has_not_begun_goes_on_in_each_process_with_noise_of_its_own",
        ),
        True,
    ),
    Mutant(
        "a device that reports in two processes",
        "core/device.py",
        "        self._forked = True\n\n    def _identity",
        "        pass\n\n    def _identity",
        ("tests/core/test_process_forks.py::test_a_device_makes_its_reports_in_one_process",),
        True,
    ),
)

_PROGRAMS = (
    Mutant(
        "the id of a report tells the sign of its reward",
        "core/device.py",
        "report_message(self._identity(), self._stage",
        'report_message(self._identity()[:-1] + "01"[reward > 0], self._stage',
        ("tests/core/test_device.py::test_no_digit_of_an_id_follows_what_is_reported",),
    ),
    Mutant(
        "a device that reports once more than it is priced for",
        "core/device.py",
        "if self._made >= self._limit:",
        "if self._made > self._limit:",
        ("tests/core/test_device.py::test_a_device_makes_as_many_reports_as_it_is_priced_for",),
    ),
    Mutant(
        "a device that forgets how many reports it made",
        "core/device.py",
        'self._made = whole("made", made, low=0)',
        'self._made = 0 * whole("made", made, low=0)',
        ("tests/core/test_device.py::test_the_count_goes_on_after_a_restart",),
    ),
    Mutant(
        "a device with the params of the server",
        "core/device.py",
        "params=plan.device,",
        "params=plan.server,",
        ("tests/policies/test_shuffle_linucb.py::test_a_device_adds_the_ones_of_its_contract",),
    ),
    Mutant(
        "a device with the params of a learner",
        "core/device.py",
        "params=plan.device,",
        "params=plan.params,",
        ("tests/policies/test_shuffle_linucb.py::test_a_device_adds_the_ones_of_its_contract",),
    ),
    Mutant(
        "a contract that leaves the noise out of its fingerprint",
        "core/contract.py",
        '"noise": {name: float(value) for name, value in report.noise.items()},',
        '"noise": dict.fromkeys(report.noise, 0.0),',
        ("tests/core/test_device.py::test_the_noise_of_a_report_has_the_law_of_the_contract",),
    ),
    Mutant(
        "a message of another contract that is taken",
        "core/messages.py",
        'if found["contract"] != contract:',
        'if not isinstance(found["contract"], str):',
        ("tests/core/test_server.py::test_a_bad_report_is_refused_and_the_state_untouched",),
    ),
    Mutant(
        "a device of many reports priced as one",
        "core/contract.py",
        "repeated: Any = replace(one, reports=reports)",
        "repeated: Any = replace(one)",
        ("tests/core/test_device.py::test_the_guarantee_prices_all_reports_of_the_device",),
    ),
    Mutant(
        "a server that takes a repeat",
        "core/server.py",
        "            if found.identity in self._taken:",
        "            if found.identity is self._taken:",
        ("tests/core/test_server.py::test_a_repeat_is_refused_and_the_state_untouched",),
    ),
    Mutant(
        "a server that forgets one id too many",
        "core/server.py",
        "if len(self._order) > self._memory:",
        "if len(self._order) >= self._memory:",
        ("tests/core/test_server.py::test_no_report_is_ever_taken_twice",),
    ),
    Mutant(
        "a batch half of whose reports are missing",
        "core/contract.py",
        'if type(found["reports"]) is not int or found["reports"] != batch:',
        'if type(found["reports"]) is not int:',
        ("tests/core/test_server.py::test_a_bad_batch_is_refused_and_the_state_untouched",),
    ),
    Mutant(
        "learners of an adapter priced as one",
        "adapters/_deployed.py",
        "return dataclasses.replace(guarantee, mu=math.sqrt(times) * guarantee.mu)",
        "return guarantee",
        ("tests/adapters/test_mabwiser.py::test_a_second_fit_is_a_second_deployment_and_is_priced",),
    ),
    Mutant(
        "learners of an adapter on one seed",
        "adapters/_deployed.py",
        "seed = None if self._seed is None else self._seed + self._earlier",
        "seed = self._seed",
        ("tests/adapters/test_mabwiser.py::test_each_deployment_draws_noise_of_its_own",),
    ),
    Mutant(
        "a store under a key that everybody knows",
        "service/sealing.py",
        ".derive(master))",
        ".derive(bytes(KEY)))",
        ("tests/service/test_sealing.py::test_nothing_else_opens_it",),
    ),
    Mutant(
        "a store that takes what is not sealed",
        "service/sealing.py",
        "if self._aead is None and stored[:1] == _OPEN:",
        "if stored[:1] == _OPEN:",
        ("tests/service/test_sealing.py::test_what_is_not_sealed_is_not_taken_where_there_is_a_key",),
    ),
    Mutant(
        "a sealed record that opens for another deployment",
        "service/sealing.py",
        "self._owner = owner.encode()",
        'self._owner = b""',
        ("tests/service/test_sealing.py::test_nothing_else_opens_it",),
    ),
    Mutant(
        "persons of a service hashed without its secret",
        "service/sealing.py",
        "return hashlib.blake2b(data, key=key, digest_size=TOKEN).digest()",
        "return hashlib.blake2b(data, digest_size=TOKEN).digest()",
        ("tests/service/test_sealing.py::test_two_deployments_cannot_be_joined_by_what_they_keep",),
    ),
)

_SUMS = (
    Mutant(
        "actions that are not scaled when they are clipped",
        "policies/linear.py",
        "        report[i] = x[i] * shrink\n    y = within_interval",
        "        report[i] = x[i]\n    y = within_interval",
        (
            "tests/laws/test_law_properties.py"
            "::test_no_pair_of_rows_moves_noised_sums_by_more_than_is_priced[joint-linucb-1]",
        ),
    ),
    Mutant(
        "OFUL actions that are not scaled when they are clipped",
        "policies/linear.py",
        "    shrink = within_ball(x, dim, row.action_norm) if row.action_norm < math.inf else 1.0",
        "    shrink = 1.0",
        ("tests/policies/test_oful.py::test_longer_actions_are_scaled_and_rewards_clipped_before_they_are_summed",),
    ),
    Mutant(
        "rewards that are not clipped",
        "policies/linear.py",
        "    y = within_interval(reward, row.reward_low, row.reward_high)",
        "    y = reward",
        (
            "tests/laws/test_law_properties.py::test_no_pair_of_rewards_moves_the_sums_by_more_than_is_priced[renyi-oful-0]",
        ),
    ),
    Mutant(
        "rewards summed without their scale",
        "policies/linear.py",
        "report[dim] = y * row.reward_scale",
        "report[dim] = y",
        (
            "tests/laws/test_law_properties.py"
            "::test_no_pair_of_rows_moves_noised_sums_by_more_than_is_priced[joint-linucb-1]",
        ),
    ),
    Mutant(
        "the sensitivity of a row without its rewards",
        "policies/joint_linucb.py",
        "return self.action_norm**2 + (self.reward_scale * self.reward_bound) ** 2",
        "return self.action_norm**2",
        (
            "tests/laws/test_law_properties.py"
            "::test_no_pair_of_rows_moves_noised_sums_by_more_than_is_priced[joint-linucb-1]",
        ),
    ),
    Mutant(
        "the sensitivity of OFUL by the half of its rewards",
        "policies/oful.py",
        "return self.reward_range * self.action_norm",
        "return self.reward_range / 2 * self.action_norm",
        ("tests/laws/test_reward_laws.py::test_the_sensitivity_of_a_reward_is_attained[renyi-oful-0]",),
    ),
    Mutant(
        "Laplace noise for one reward of a person",
        "policies/_rewards.py",
        "return (self.person_rounds or 1) * self.reward_range / self.epsilon * (1 + SAFETY)",
        "return self.reward_range / self.epsilon * (1 + SAFETY)",
        ("tests/policies/test_renyi_ucb.py::test_laplace_noise_covers_all_rewards_of_a_person",),
    ),
    Mutant(
        "a person priced as a round",
        "policies/_rewards.py",
        "return event if self.person_rounds is None else PersonEvent(event, self.person_rounds)",
        "return event",
        ("tests/policies/test_oful.py::test_several_rewards_of_one_person_are_priced_as_one_long_one",),
    ),
    Mutant(
        "persons of joint-linucb priced as if always apart",
        "policies/joint_linucb.py",
        "return PersonEvent(event, rounds=self.person_rounds, one_per_segment=self.one_row_per_segment)",
        "return PersonEvent(event, rounds=self.person_rounds, one_per_segment=True)",
        ("tests/policies/test_persons.py::test_the_event_names_the_person_and_its_rule",),
    ),
    Mutant(
        "honest people of a batch rounded up",
        "policies/shuffle_linucb.py",
        "return max(1, math.floor(self.honest * self.batch_size))",
        "return max(1, math.ceil(self.honest * self.batch_size))",
        ("tests/policies/test_shuffle_linucb.py::test_part_of_a_person_is_not_honest",),
    ),
    Mutant(
        "ones shared among people that are not honest",
        "policies/shuffle_linucb.py",
        "return _certified(config, grid, math.ceil(trials / config.honest_people), 0.5)",
        "return _certified(config, grid, math.ceil(trials / config.batch_size), 0.5)",
        (f"{LAWS}::test_accounted_cost_never_exceeds_the_promise[shuffle-linucb-0]",),
    ),
    Mutant(
        "private numbers of a report miscounted",
        "policies/_reporting.py",
        "return packed_size(self.dim) - packed_size(len(self.constants)) + self.dim",
        "return self.dim",
        ("tests/policies/test_shuffle_linucb.py::test_every_private_number_of_a_report_is_counted",),
    ),
    Mutant(
        "a tree with a level too few",
        "mechanisms/binary.py",
        "return (horizon - 1).bit_length()",
        "return max(1, (horizon - 1).bit_length() - 1)",
        ("tests/policies/test_joint_linucb.py::test_tree_levels",),
    ),
    Mutant(
        "a tree that uses a node again",
        "mechanisms/binary.py",
        "    while (row >> level) & 1 == 0:\n        level += 1\n    return level",
        "    return level",
        (
            "tests/counters/test_tree.py"
            "::test_each_prefix_holds_the_draws_of_its_closed_nodes_and_each_node_is_drawn_once",
        ),
    ),
    Mutant(
        "a tree whose noise leaves out the nodes above",
        "counters/tree.py",
        "            node[k] += upper[k]\n    return level",
        "            node[k] += 0.0 * upper[k]\n    return level",
        (
            "tests/counters/test_tree.py"
            "::test_each_prefix_holds_the_draws_of_its_closed_nodes_and_each_node_is_drawn_once",
        ),
    ),
    Mutant(
        "a tree under half its noise",
        "counters/tree.py",
        "    held = memory[tree_noise(counter.scale, memory, row, dim, noise)]",
        "    held = memory[tree_noise(counter.scale / 2, memory, row, dim, noise)]",
        ("tests/mechanisms/test_in_a_learner.py::test_a_view_is_the_exact_sums_plus_the_noise_of_the_mechanism",),
    ),
    Mutant(
        "the last row of a horizon released",
        "counters/counter.py",
        "    return row < schedule.horizon",
        "    return row <= schedule.horizon",
        (f"{LAWS}::test_a_horizon_is_never_overrun[joint-linucb-2]",),
    ),
    Mutant(
        "a release one row early",
        "counters/counter.py",
        "bool(row == schedule.times[stage])",
        "bool(row >= schedule.times[stage] - 1)",
        ("tests/policies/test_window.py::test_a_view_holds_the_rows_of_its_window_and_one_draw_per_segment",),
    ),
    Mutant(
        "more releases than were priced",
        "counters/counter.py",
        "    while len(times) < views:",
        "    while len(times) < views + 1:",
        ("tests/counters/test_geometric.py::test_a_product_in_floats_would_have_been_rounded_up",),
    ),
    Mutant(
        "a window whose exact sums are not forgotten",
        "counters/window.py",
        "        slot[k] += sums[k]\n        sums[k] = 0.0",
        "        slot[k] += sums[k]",
        ("tests/policies/test_window.py::test_a_view_holds_the_rows_of_its_window_and_one_draw_per_segment",),
    ),
    Mutant(
        "a window under half its noise",
        "counters/window.py",
        "draw_symmetric(noise, counter.scale, dim, slot)",
        "draw_symmetric(noise, counter.scale / 2, dim, slot)",
        ("tests/policies/test_window.py::test_a_view_holds_the_rows_of_its_window_and_one_draw_per_segment",),
    ),
    Mutant(
        "toeplitz noise that forgets nothing",
        "counters/toeplitz.py",
        "buffer[k] = (buffer[k] - forget * buffer[k]) + fresh[k]",
        "buffer[k] = buffer[k] + fresh[k]",
        (
            "tests/counters/test_toeplitz.py"
            "::test_the_recurrence_is_the_dense_matrix_applied_to_the_draws_at_every_step",
        ),
    ),
    Mutant(
        "toeplitz releases of one draw, used again",
        "counters/toeplitz.py",
        "    draw_symmetric(noise, params.scale, dim, fresh)\n    for k in range(fresh.shape[0]):\n        plain[k]",
        "    if plain[0] == 0.0:\n        draw_symmetric(noise, params.scale, dim, fresh)\n"
        "    for k in range(fresh.shape[0]):\n        plain[k]",
        (f"{LAWS}::test_noise_is_drawn_where_the_trust_model_says_and_never_otherwise[joint-linucb-0]",),
    ),
    Mutant(
        "a toeplitz event for half of its releases",
        "counters/toeplitz.py",
        'return ToeplitzEvent(scale, sensitivity, self.most_views, EIGHT_BUFFERS, "many")',
        'return ToeplitzEvent(scale, sensitivity, max(1, self.most_views // 2), EIGHT_BUFFERS, "many")',
        ("tests/counters/test_geometric.py::test_the_plan_of_the_worked_example",),
    ),
    Mutant(
        "segments priced as rows of one release each",
        "counters/toeplitz.py",
        'self.most_views, EIGHT_BUFFERS, "many")',
        'self.most_views, EIGHT_BUFFERS, "one")',
        ("tests/policies/test_persons.py::test_noise_grows_by_the_listed_multiplier",),
    ),
    Mutant(
        "segments with the plain sum priced for correlated noise",
        "counters/segments.py",
        "return SegmentsEvent(scale, sensitivity) if self.plain else RootToeplitzEvent(scale, sensitivity, self.most)",
        "return SegmentsEvent(scale, sensitivity)",
        ("tests/policies/test_oful.py::test_both_noises_are_priced_alike_and_say_what_is_released",),
    ),
    Mutant(
        "prefix noise with the last draw left out",
        "counters/segments.py",
        "    for m in range(release + 1):\n        weight, draw",
        "    for m in range(max(1, release)):\n        weight, draw",
        ("tests/counters/test_segments.py::test_the_kernel_is_the_dense_matrix_applied_to_the_draws",),
    ),
    Mutant(
        "OFUL releases beyond those that were priced",
        "policies/switching.py",
        "if vault.grown[0] <= params.growth or view.stage[0] >= params.most:",
        "if vault.grown[0] <= params.growth:",
        ("tests/policies/test_oful.py::test_a_release_beyond_those_that_were_priced_is_refused_and_draws_nothing",),
    ),
    Mutant(
        "fewer views priced than OFUL can release",
        "policies/switching.py",
        "return max(1, min(rounds, math.ceil(bound)))",
        "return max(1, min(rounds, math.floor(bound / 2)))",
        ("tests/policies/test_oful.py::test_it_is_the_algorithm_as_written_down",),
    ),
    Mutant(
        "a batch that is published twice",
        "counters/batches.py",
        "    for k in range(out.shape[0]):\n        sums[k] = 0.0\n",
        "",
        ("tests/policies/test_shuffle_linucb.py::test_a_batch_is_forgotten_when_it_is_published",),
    ),
    Mutant(
        "a batch published before it is full",
        "counters/counter.py",
        "    return row % schedule.batch == 0",
        "    return row % schedule.batch == schedule.batch - 1",
        ("tests/policies/test_shuffle_linucb.py::test_nothing_gets_out_inside_a_batch",),
    ),
    Mutant(
        "a batch without the ones of its people",
        "policies/shuffle_linucb.py",
        "ones=noise.ones(batch * noise.each),",
        "ones=noise.ones(noise.each),",
        ("tests/policies/test_shuffle_linucb.py::test_ones_drawn_at_once_and_ones_of_devices_have_the_same_law",),
    ),
    Mutant(
        "an episode whose sum is kept after its release",
        "mechanisms/episode/__init__.py",
        "    sums[place] = 0.0\n    sizes[place] = 0",
        "    sizes[place] = 0",
        ("tests/mechanisms/test_episode.py::test_a_total_is_published_once_and_nothing_of_it_stays",),
    ),
    Mutant(
        "an arm's tree that leaves out the nodes above",
        "mechanisms/vector_tree/__init__.py",
        "            node[i] += upper[i]\n    return level",
        "            node[i] += 0.0 * upper[i]\n    return level",
        ("tests/policies/test_linpriv.py::test_gaussian_prefix_sums_share_the_noise_of_their_common_nodes",),
    ),
    Mutant(
        "an arm's tree under half its noise",
        "mechanisms/vector_tree/__init__.py",
        "            node[i] *= scale",
        "            node[i] *= scale / 2",
        ("tests/policies/test_linpriv.py::test_gaussian_prefix_sums_share_the_noise_of_their_common_nodes",),
    ),
    Mutant(
        "odds of candidates twice as steep",
        "mechanisms/exponential/rate.py",
        'ratio = positive("epsilon", epsilon) / 2 / positive',
        'ratio = positive("epsilon", epsilon) / positive',
        (
            "tests/mechanisms/test_exponential.py"
            "::test_under_the_range_rule_no_record_moves_a_probability_by_more_than_epsilon_and_some_by_as_much",
        ),
    ),
    Mutant(
        "the published odds twice as steep",
        "mechanisms/exponential/rate.py",
        'ratio = positive("epsilon", epsilon) / 4 / positive',
        'ratio = positive("epsilon", epsilon) / 2 / positive',
        (
            "tests/mechanisms/test_exponential.py"
            "::test_under_the_published_rule_no_record_moves_a_probability_by_more_than_epsilon",
        ),
    ),
    Mutant(
        "the diameter of candidates without its rounding",
        "mechanisms/exponential/rate.py",
        "return spread + 2.0 * (width + 2) * records * 2.0**-52 * at_least",
        "return spread + 0.0 * (width + 2) * records * 2.0**-52 * at_least",
        ("tests/policies/test_usca.py::test_odds_of_candidates_that_nearly_coincide_do_not_follow_rounding_errors",),
    ),
    Mutant(
        "a function released before it is charged",
        "policies/usca/learner.py",
        "            self._ledger.spend(event)  # before anything is drawn: what is refused leaves no trace\n",
        "",
        ("tests/policies/test_usca.py::test_a_function_spends_everything_and_a_second_is_refused",),
    ),
    Mutant(
        "a prediction that costs nothing",
        "policies/usca/learner.py",
        "            self._ledger.spend(ExponentialEvent(promised))\n",
        "",
        ("tests/policies/test_usca.py::test_single_predictions_add_up_and_are_refused_in_the_end",),
    ),
    Mutant(
        "rewards of a function that are not clipped",
        "policies/usca/records.py",
        "within = np.clip(centred, -domain.reach, domain.reach)",
        "within = centred",
        ("tests/policies/test_usca.py::test_what_lies_outside_is_moved_and_counted",),
    ),
    Mutant(
        "a choice that reads the vault",
        "core/session.py",
        "        arguments = (self.params, view, rows, room, self.noise)",
        "        if self.vault is not None:\n            rows = rows + 1e-3 * self.vault.counters[0]\n"
        "        arguments = (self.params, view, rows, room, self.noise)",
        ("tests/laws/test_privacy_laws.py::test_choose_cannot_see_the_vault",),
    ),
    Mutant(
        "a seed that the guarantee does not tell",
        "core/learner.py",
        "return guarantee.with_seed() if self._session.seeded else guarantee",
        "return guarantee",
        (f"{LAWS}::test_noise_comes_from_the_operating_system_unless_a_seed_is_given[joint-linucb-0]",),
    ),
    Mutant(
        "a learner on a seed that was not given",
        "core/session.py",
        "source = self.new_source() if seed is None else self.new_source(seed, 0, POLICY)",
        "source = self.new_source(1 if seed is None else seed, 0, POLICY)",
        (f"{LAWS}::test_noise_comes_from_the_operating_system_unless_a_seed_is_given[joint-linucb-0]",),
    ),
    Mutant(
        "a reward that is shown in an error",
        "_validate.py",
        'raise BadInput(f"Expected {name} to be a number, got {type(value).__name__}. Nothing was changed.")',
        'raise BadInput(f"Expected {name} to be a number, got {value!r}. Nothing was changed.")',
        ("tests/core/test_error_values.py::test_a_reward_that_is_refused_is_not_shown[text]",),
    ),
    Mutant(
        "values under a mask that are read",
        "_arrays.py",
        "    if _masked(values):",
        "    if False:",
        ("tests/core/test_error_values.py::test_a_reward_that_is_refused_is_not_shown",),
    ),
)

DISCRETE = "tests/noise/test_discrete.py"
TAPES = "tests/noise/test_tape.py"
CLOCKS = "tests/laws/test_clock_laws.py"
SECURE = "tests/laws/test_secure_laws.py"

_EXACT = (
    Mutant(
        "words of a seed in place of the operating system's",
        "noise/coins.py",
        "return np.frombuffer(os.urandom(8 * count), np.uint64)",
        "return np.random.default_rng(1).integers(0, 2**64, count, np.uint64)",
        (f"{DISCRETE}::test_words_of_a_seed_repeat_and_others_do_not",),
    ),
    Mutant(
        "words of a generator that the operating system only seeds",
        "noise/coins.py",
        "return np.frombuffer(os.urandom(8 * count), np.uint64)",
        "return np.random.default_rng().integers(0, 2**64, count, np.uint64)",
        (f"{TAPES}::test_extreme_words_give_uniforms_below_one",),
    ),
    Mutant(
        "words that the next call gives again",
        "noise/coins.py",
        "self._at[1] += np.uint64(-(-count // 4))",
        "self._at[1] += np.uint64(count // 4)",
        (f"{DISCRETE}::test_words_of_a_seed_repeat_and_others_do_not",),
    ),
    Mutant(
        "coins that doubles always decide",
        "noise/coins.py",
        "ERROR = 2.0**-46",
        "ERROR = 0.0",
        (f"{DISCRETE}::test_an_undecided_proposal_is_decided_by_more_bits",),
    ),
    Mutant(
        "an exponential without its last term",
        "noise/coins.py",
        "(1.0 - r / 5 * (1.0 - r / 6))",
        "(1.0 - r / 5)",
        (f"{DISCRETE}::test_doubles_are_within_their_error_of_e_to_the_minus_x",),
    ),
    Mutant(
        "more bits that are not looked at",
        "noise/coins.py",
        "self.head, self.bits = self.head << 64 | int(self._words(1)[0]), self.bits + 64",
        "self.head, self.bits = self.head << 64, self.bits + 64",
        (f"{DISCRETE}::test_more_bits_decide_what_the_first_ones_leave_open",),
    ),
    Mutant(
        "discrete noise without its sign",
        "noise/discrete.py",
        "return -float(size) if negative else float(size)",
        "return float(size)",
        (f"{DISCRETE}::test_what_doubles_decide_is_what_whole_numbers_say",),
    ),
    Mutant(
        "a zero that comes with either sign",
        "noise/discrete.py",
        "(not open_ and (taken == 0 or (negative and size == 0)))",
        "(not open_ and taken == 0)",
        (f"{DISCRETE}::test_what_doubles_decide_is_what_whole_numbers_say",),
    ),
    Mutant(
        "discrete noise whose tails are cut",
        "noise/discrete.py",
        "for k in range(1, WHOLES.shape[0]):",
        "for k in range(1, 8):",
        (f"{DISCRETE}::test_what_doubles_decide_is_what_whole_numbers_say",),
    ),
    Mutant(
        "tails that end where doubles do",
        "noise/discrete.py",
        "    while leading.below_exp(Fraction(v + 1)):",
        "    while v < 43 and leading.below_exp(Fraction(v + 1)):",
        (f"{DISCRETE}::test_tails_have_no_end_in_doubles",),
    ),
    Mutant(
        "proposals that are dropped if doubles cannot decide them",
        "noise/discrete.py",
        "                if found is not None:\n                    out[done] = found",
        "                if found is None:\n                    out[done] = 0.0",
        (f"{DISCRETE}::test_an_undecided_proposal_is_decided_by_more_bits",),
    ),
    Mutant(
        "first numbers likelier than the others",
        "noise/discrete.py",
        "even = number < (np.int64(2**53) // top) * top",
        "even = number >= 0",
        (f"{DISCRETE}::test_numbers_that_would_come_once_too_often_are_rejected",),
    ),
    Mutant(
        "a discrete Gaussian that is a Laplace number",
        "noise/discrete.py",
        "    if scale > 0.0:\n        z =",
        "    if scale < 0.0:\n        z =",
        (f"{DISCRETE}::test_what_doubles_decide_is_what_whole_numbers_say",),
    ),
    Mutant(
        "a discrete Gaussian a fiftieth too narrow",
        "noise/discrete.py",
        "return _draw(self, math.floor(self.scale) + 1, self.scale, count, words)",
        "return _draw(self, math.floor(self.scale) + 1, 0.98 * self.scale, count, words)",
        (
            f"{DISCRETE}"
            "::test_wide_noise_is_normal_to_the_eye_and_whole_and_its_scale_is_right_to_two_parts_in_a_hundred",
        ),
        True,
    ),
    Mutant(
        "trials of a binomial that no table has",
        "noise/discrete.py",
        "_TABLES = (2**14, 2**10, 2**7, 2**4, 1)",
        "_TABLES = (2**14, 2**10, 2**7, 2**4)",
        (f"{DISCRETE}::test_draws_follow_their_law[Binomial(trials=37, chance=0.25)]",),
    ),
    Mutant(
        "binomial numbers on a threshold that are not looked at",
        "noise/discrete.py",
        "for place in np.flatnonzero(thresholds[np.maximum(successes, 1) - 1] == words):",
        "for place in ():",
        (f"{DISCRETE}::test_a_word_on_a_threshold_is_decided_by_more_bits",),
    ),
    Mutant(
        "a tape a fiftieth too quiet",
        "noise/tape.py",
        "source.normals[:] = law.draw(len(source.normals), _words_of(source))",
        "source.normals[:] = law.scaled(0.98).draw(len(source.normals), _words_of(source))",
        (f"{TAPES}::test_noise_has_its_law_and_uniforms_are_uniform",),
        True,
    ),
    Mutant(
        "a tape that is wound back and not laid out",
        "noise/tape.py",
        "        source.normals[:] = law.draw(len(source.normals), _words_of(source))\n",
        "        if np.isnan(source.normals).all():\n"
        "            source.normals[:] = law.draw(len(source.normals), _words_of(source))\n",
        (f"{TAPES}::test_a_refill_throws_away_what_is_left_of_a_tape_too_short",),
    ),
    Mutant(
        "numbers that stay on the tape when they are read",
        "noise/hand_out.py",
        "        values[at + i] = np.nan",
        "        pass",
        (f"{TAPES}::test_values_are_handed_out_front_to_back_and_overwritten",),
    ),
    Mutant(
        "a tape without a law that is laid out with uniform numbers",
        "noise/tape.py",
        '            raise RuntimeError("Expected a law for what is laid on the tape, '
        'got none: it would be no noise.")\n',
        "            source.normals[:] = uniforms_of(_words_of(source)(len(source.normals)))\n"
        "            source.at[NORMALS] = 0\n            return\n",
        (f"{TAPES}::test_without_a_law_there_is_no_noise_to_lay_out",),
    ),
    Mutant(
        "a tape of a seed that does not say so",
        "noise/tape.py",
        "return not is_tape(source) or len(source.words) > 0",
        "return not is_tape(source)",
        (f"{TAPES}::test_a_tape_of_a_seed_repeats_and_says_so",),
    ),
    Mutant(
        "normal numbers in doubles without a seed",
        "noise/plain.py",
        '            raise RuntimeError("Expected a seed for normal numbers in double precision, got none.")\n',
        "            return np.random.default_rng().standard_normal(shape)\n",
        ("tests/mechanisms/test_vector.py::test_without_a_seed_there_are_no_doubles",),
    ),
    Mutant(
        "half the noise for a learner without a seed",
        "core/session.py",
        "        self._law = plan.law\n",
        "        self._law = plan.law if plan.law is None or seed is not None else plan.law.scaled(0.5)\n",
        ("tests/core/test_session.py::test_what_lies_ready_has_the_law_of_the_plan",),
        True,
    ),
    Mutant(
        "half the noise for a deployment",
        "service/live.py",
        "        self._session = Session(plan, self.dim, seed=seed, slates=_SLATES)",
        '        quiet = type(plan)(**{**vars(plan), "law": plan.law and plan.law.scaled(0.5)})\n'
        "        self._session = Session(quiet, self.dim, seed=seed, slates=_SLATES)",
        ("tests/service/test_live_law.py::test_the_first_view_of_a_deployment_has_the_noise_of_its_plan",),
    ),
    Mutant(
        "half the noise for a deployment that draws it ahead",
        "service/live.py",
        "refill(fresh, len(noise.normals), len(noise.uniforms), self.plan.law)",
        "refill(fresh, len(noise.normals), len(noise.uniforms), self.plan.law and self.plan.law.scaled(0.5))",
        ("tests/service/test_live_law.py::test_the_first_view_of_a_deployment_has_the_noise_of_its_plan",),
    ),
    Mutant(
        "deployments that share the noise of one seed",
        "service/live.py",
        "        self._session = Session(plan, self.dim, seed=seed, slates=_SLATES)",
        "        self._session = Session(plan, self.dim, seed=seed or 0, slates=_SLATES)",
        ("tests/service/test_live_law.py::test_no_two_deployments_share_their_noise",),
    ),
    Mutant(
        "noise drawn ahead that is laid out twice",
        "service/live.py",
        "            self._ahead = None\n            self._session.read_from(ahead)",
        "            self._session.read_from(ahead._replace(normals=ahead.normals.copy(), at=ahead.at.copy()))",
        ("tests/service/test_isolation.py::test_what_is_drawn_ahead_is_read_once",),
    ),
    Mutant(
        "noise drawn ahead that a child process reads too",
        "service/live.py",
        '"""After a fork: what was drawn ahead is the parent\'s."""\n        self._ahead = None',
        '"""After a fork: what was drawn ahead is the parent\'s."""',
        ("tests/service/test_isolation.py::test_what_was_drawn_ahead_stays_in_the_process_that_drew_it",),
    ),
    Mutant(
        "a service whose plans are in doubles",
        "service/settings.py",
        'return config.planned("secure")',
        'return config.planned("double")',
        ("tests/service/test_live_law.py::test_the_first_view_of_a_deployment_has_the_noise_of_its_plan",),
    ),
    Mutant(
        "a learner without a seed in doubles",
        "core/settings.py",
        'return "secure" if seed is None else "double"',
        'return "double"',
        ("tests/policies/test_secure.py::test_without_a_seed_noise_is_drawn_exactly_and_doubles_are_refused",),
    ),
    Mutant(
        "doubles without a seed for who asks for them",
        "core/settings.py",
        'if one_of("sampler", sampler, SAMPLERS) == "double" and seed is None:',
        'if one_of("sampler", sampler, SAMPLERS) is None and seed is None:',
        ("tests/policies/test_secure.py::test_without_a_seed_noise_is_drawn_exactly_and_doubles_are_refused",),
    ),
    Mutant(
        "a policy that can only be simulated, for people",
        "core/policy.py",
        "        if not plan.exact:\n",
        "        if False:\n",
        ("tests/policies/test_secure.py::test_published_noise_is_drawn_exactly_if_it_is_gaussian",),
    ),
    Mutant(
        "a contract of the plan in doubles",
        "core/contract.py",
        "    plan = config.planned()  #",
        "    plan = config.plan()  #",
        ("tests/laws/test_report_laws.py::test_a_device_has_the_exact_plan_that_its_card_prices",),
    ),
    Mutant(
        "a device with half the noise of its contract",
        "core/device.py",
        "law = plan.device_law or plan.law",
        "law = (plan.device_law or plan.law) and (plan.device_law or plan.law).scaled(0.5)",
        ("tests/policies/test_shuffle_linucb.py::test_a_device_adds_the_ones_of_its_contract",),
    ),
    Mutant(
        "a device with the law of a whole batch",
        "core/device.py",
        "law = plan.device_law or plan.law",
        "law = plan.law",
        ("tests/policies/test_shuffle_linucb.py::test_a_device_adds_the_ones_of_its_contract",),
    ),
    Mutant(
        "devices of the shuffle that lay out one trial",
        "policies/shuffle_linucb.py",
        "device_law=noise.law(noise.each),",
        "device_law=noise.law(1),",
        ("tests/policies/test_shuffle_linucb.py::test_a_device_adds_the_ones_of_its_contract",),
    ),
    Mutant(
        "devices of the shuffle without ones",
        "policies/shuffle_linucb.py",
        "device = params._replace(row=params.row._replace(ones=noise.ones(noise.each)), counter=nothing)",
        "device = params._replace(counter=nothing)",
        ("tests/policies/test_shuffle_linucb.py::test_a_device_adds_the_ones_of_its_contract",),
    ),
    Mutant(
        "ones that lie ready and are not added",
        "mechanisms/shuffle/__init__.py",
        "        return float(scratch[0])",
        "        return 0.0",
        ("tests/policies/test_shuffle_linucb.py::test_a_device_adds_the_ones_of_its_contract",),
    ),
    Mutant(
        "a lattice with noise a fiftieth too small",
        "counters/counter.py",
        "else DiscreteGaussian(self.steps)\n",
        "else DiscreteGaussian(0.98 * self.steps)\n",
        (f"{SECURE}::test_the_tape_has_the_scale_of_the_event[joint-linucb-0]",),
    ),
    Mutant(
        "Laplace noise of half its steps",
        "counters/counter.py",
        "DiscreteLaplace(round(self.steps))",
        "DiscreteLaplace(round(self.steps / 2))",
        (f"{SECURE}::test_what_is_released_in_whole_numbers_is_priced_so[laplace-ucb-0]",),
    ),
    Mutant(
        "Laplace noise rounded down to whole steps",
        "counters/counter.py",
        "scale = math.ceil(scale / step) * step",
        "scale = math.floor(scale / step) * step",
        ("tests/policies/test_secure.py::test_laplace_noise_has_as_few_whole_steps_as_keep_the_promise",),
    ),
    Mutant(
        "sums on a lattice rounded for nothing",
        "counters/counter.py",
        'rounding = ROUNDING if rounded == "sums" else 0.0',
        "rounding = 0.0",
        (f"{SECURE}::test_whatever_is_rounded_is_paid_for[joint-linucb-0]",),
    ),
    Mutant(
        "rows on a lattice rounded for nothing",
        "counters/counter.py",
        'more = 2 * ROUNDING * far * step if rounded == "rows" else 0.0',
        "more = 0.0",
        (f"{SECURE}::test_whatever_is_rounded_is_paid_for[linpriv-0]",),
    ),
    Mutant(
        "reports of devices rounded for nothing",
        "policies/_reporting.py",
        "            load=Load(1.0, 1, 1),\n        )\n        return ReportNoise",
        '            load=Load(1.0, 1, 1),\n            rounded="rewards",\n        )\n        return ReportNoise',
        (f"{SECURE}::test_whatever_is_rounded_is_paid_for[local-linucb-0]",),
    ),
    Mutant(
        "Laplace sums on a lattice rounded for nothing",
        "privacy/accountant.py",
        "return theorem_for(replace(inner, sensitivity=inner.sensitivity + _rounded(event)))",
        "return theorem_for(inner)",
        ("tests/privacy/test_lattice_event.py::test_laplace_sums_and_mixed_reports_pay_for_their_rounding",),
    ),
    Mutant(
        "mixed reports on a lattice rounded for nothing",
        "privacy/accountant.py",
        "return theorem_for(replace(inner, sensitivity=price(alone) * inner.scale))",
        "return theorem_for(inner)",
        ("tests/privacy/test_lattice_event.py::test_laplace_sums_and_mixed_reports_pay_for_their_rounding",),
    ),
    Mutant(
        "a report that is not rounded before its noise",
        "mechanisms/report/__init__.py",
        "return step * (float(np.rint(value / step)) + drawn)",
        "return value + step * drawn",
        ("tests/laws/test_report_laws.py::test_what_leaves_a_device_is_a_whole_number_of_steps[local-linucb-0]",),
    ),
    Mutant(
        "a node that is not rounded before its noise",
        "counters/tree.py",
        "        released[k] += nearest(high, low)",
        "        released[k] += high + low",
        ("tests/counters/test_lattice.py::test_whole_numbers_are_released_and_are_off_by_half_a_step",),
    ),
    Mutant(
        "rewards that are not rounded before they are summed",
        "policies/episodic/verbs.py",
        "steps: float = np.rint((reward - params.reward_low) / params.step)",
        "steps: float = (reward - params.reward_low) / params.step",
        (f"{SECURE}::test_everything_released_is_a_whole_number_with_its_noise_added_once[renyi-ucb-0]",),
    ),
    Mutant(
        "a vector that is not rounded before its noise",
        "mechanisms/vector.py",
        "np.rint(vector / event.step) + numbers",
        "vector / event.step + numbers",
        ("tests/mechanisms/test_vector.py::test_released_numbers_are_whole_steps_with_the_noise_of_the_event",),
        True,
    ),
    Mutant(
        "a vector whose sums lose more than is priced",
        "mechanisms/vector.py",
        "math.floor(52 - math.log2(max(rows, 1) * (rows + 2))),",
        "math.floor(62 - math.log2(max(rows, 1) * (rows + 2))),",
        ("tests/mechanisms/test_vector.py::test_rounding_is_in_the_price_and_costs_little",),
    ),
    Mutant(
        "candidates placed by doubles alone",
        "mechanisms/exponential/candidates.py",
        "return int(low) if low == high else _placed_exactly(x, Uniform(int(word), words))",
        "return int(low)",
        ("tests/mechanisms/test_exponential.py::test_a_number_between_two_candidates_is_placed_by_more_bits",),
    ),
    Mutant(
        "coins of a rejection decided by doubles alone",
        "mechanisms/exponential/rejection.py",
        "np.flatnonzero(np.abs(leading - chances) <= ERROR):",
        "np.flatnonzero(np.abs(leading - chances) < 0):",
        ("tests/mechanisms/test_exponential.py::test_coins_of_a_rejection_are_decided_for_certain",),
    ),
)

_CLOCK = (
    Mutant(
        "a decision that makes no tick",
        "core/learner.py",
        "            self._note(self._session.tick())\n",
        "",
        (f"{CLOCKS}::test_nor_where_decisions_stay_open_until_they_expire_on_a_schedule[joint-linucb-0]",),
    ),
    Mutant(
        "a late reward that moves the clock",
        "core/learner.py",
        "self._session.absorb(*self._admitted(row, reward, found.person))",
        "self._session.learn(*self._admitted(row, reward, found.person))",
        (f"{CLOCKS}::test_nor_where_decisions_stay_open_until_they_expire_on_a_schedule[joint-linucb-0]",),
    ),
    Mutant(
        "a row that moves the clock by itself",
        "core/round.py",
        "    vault.counters[ROWS] = clock\n",
        "",
        ("tests/mechanisms/test_late_rows.py::test_a_row_and_a_tick_are_a_round",),
    ),
    Mutant(
        "a row that is refused and makes no tick",
        "core/learner.py",
        "            outcome = self._session.learn(self._without(row) if fits else np.zeros(self._dim), 0.0)",
        "            outcome = outcome if fits else REFUSED",
        (f"{CLOCKS}::test_every_call_of_learn_is_a_tick_whatever_is_in_the_row[joint-linucb-0]",),
    ),
    Mutant(
        "a reward that strict refuses after the choice",
        "core/learner.py",
        "        with self._lock:\n            self._refuse_row()\n            self._learn(row, reward, token)",
        "        if self._strict and abs(reward) > self._config.reward_bound:\n"
        '            raise OutOfBounds("refused")\n'
        "        with self._lock:\n            self._refuse_row()\n            self._learn(row, reward, token)",
        ("tests/core/test_learner.py::test_strict_clips_what_is_learned_a_refusal_would_not_tick",),
    ),
    Mutant(
        "a row beyond a person's share that makes no tick",
        "core/learner.py",
        "        outcome = self._session.learn(*self._admitted(row, reward, token))",
        "        before = self._dropped\n        admitted = self._admitted(row, reward, token)\n"
        "        if self._dropped > before:\n            return\n        outcome = self._session.learn(*admitted)",
        ("tests/core/test_people.py::test_rows_beyond_the_limit_are_learned_as_zeros",),
    ),
    Mutant(
        "a silent row that is left out where rows are in order",
        "core/learner.py",
        "            if found.open:\n                self._expire(identity, found)\n"
        "            self._decisions.close(identity)",
        "            if found.open:\n                self._decisions.close(identity)\n                self._owed -= 1\n"
        "                continue\n            self._decisions.close(identity)",
        (f"{CLOCKS}::test_where_rows_may_not_come_late_every_row_keeps_its_place[renyi-ucb-0]",),
    ),
    Mutant(
        "rows that are to come in order and come when they are rewarded",
        "core/learner.py",
        "            self._decisions.keep(identity, row, reward)\n",
        "            self._decisions.close(identity)\n            self._owed -= 1\n"
        "            self._learn(row, reward, found.person)\n",
        (f"{CLOCKS}::test_where_rows_may_not_come_late_every_row_keeps_its_place[renyi-ucb-0]",),
    ),
    Mutant(
        "an expired row that does not count for its person",
        "core/learner.py",
        "        self._expired += 1\n        self._close(identity, found, self._without(found.x), 0.0)",
        "        self._expired += 1\n        if self._in_order:\n"
        "            self._close(identity, found, self._without(found.x), 0.0)\n        else:\n"
        "            self._decisions.close(identity)",
        ("tests/core/test_decisions.py::test_a_person_is_counted_when_the_row_comes_reward_or_not",),
    ),
    Mutant(
        "a place that is not kept for the row of a decision",
        "core/learner.py",
        "self._session.vault.counters.item(ROWS) + self._owed >= limit:",
        "self._session.vault.counters.item(ROWS) >= limit:",
        ("tests/core/test_decisions.py::test_a_decision_keeps_a_place_for_its_row",),
    ),
    Mutant(
        "a closed decision that takes another reward until its turn",
        "core/decisions.py",
        "        if pending is not None and pending.open:",
        "        if pending is not None:",
        ("tests/core/test_decisions.py::test_a_second_reward_is_refused_before_a_row_has_its_turn_too",),
    ),
    Mutant(
        "a closed decision that a checkpoint opens again",
        "core/decisions.py",
        "Pending(number, x.copy(), next(persons, None), is_open, reward)",
        "Pending(number, x.copy(), next(persons, None), True, reward)",
        ("tests/core/test_decisions.py::test_books_travel_as_arrays",),
    ),
    Mutant(
        "a deployment whose clock counts rewards",
        "service/learning.py",
        "        self.live.absorb(row, value)\n",
        "        self.live.learn(row, value)\n",
        ("tests/service/test_engine.py::test_one_persons_silence_moves_no_release_and_no_other_row",),
    ),
    Mutant(
        "a deployment that leaves out a silent row where rows are in order",
        "service/learning.py",
        "        self._released = self.live.learn(row, value)\n",
        "        if self._reward(pending) is not None:\n            self._released = self.live.learn(row, value)\n",
        ("tests/service/test_engine.py::test_in_order_too_a_silent_row_keeps_its_place_as_zeros",),
    ),
)

MUTANTS: tuple[Mutant, ...] = _PRICES + _CURVES + _BOOKS + _PROGRAMS + _SUMS + _EXACT + _CLOCK
