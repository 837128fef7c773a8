"""Clusters are a partition, whatever the judge says, and do not depend on the order of the samples."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hedgerow.proxy.clustering.clusterer import Judgement, cluster_by_rules, partition


def _texts(answers: list[str], clustering) -> set[tuple[str, ...]]:
    return {tuple(sorted(answers[i] for i in cluster)) for cluster in clustering.clusters}


@given(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=12), st.randoms(), st.data())
def test_any_judge_gives_the_same_partition_in_any_order(answers, random, data):
    """A judge that is not transitive still leads to one partition, the same for every order of the answers."""
    verdicts = data.draw(
        st.dictionaries(
            st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")),
            st.tuples(st.sampled_from([True, False, None]), st.sampled_from([0.2, 1.0])),
        )
    )

    def judge(a: str, b: str) -> Judgement:
        same, strength = verdicts.get((a, b), (None, 1.0))
        return Judgement(same, "judge", strength)

    first = partition(answers, judge)
    shuffled = list(answers)
    random.shuffle(shuffled)
    assert _texts(answers, first) == _texts(shuffled, partition(shuffled, judge))


def test_a_pair_judged_different_is_never_joined_through_a_third():
    """`Clinton` joins one of two Clintons, the more frequent one, and never makes them one."""
    clashes = {("bill clinton", "hillary clinton")}
    judge = lambda a, b: Judgement((a, b) not in clashes, "judge")  # noqa: E731
    answers = ["clinton", "hillary clinton", "bill clinton", "bill clinton"]
    assert partition(answers, judge).clusters == ((0, 2, 3), (1,))


def test_equal_answers_meet_and_counts_add_up():
    """Every pair of samples is counted once, under the step that decided it."""
    clustering = cluster_by_rules("What year?", ["1945", "In 1944", "1945.", "The answer is 1945"])
    assert clustering.clusters == ((0, 2, 3), (1,))
    assert clustering.decided_by == {"normal": 3, "veto:number": 3}
