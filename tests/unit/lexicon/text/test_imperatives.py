"""Instructions of recipes, how-tos, software and first aid are known as such; statements whose first word is also a verb are not."""

from __future__ import annotations

import pytest

from hedgerow.lexicon.text.imperatives import NOUNS_TOO, VERBS, instructs
from hedgerow.lexicon.text.shape import shape
from hedgerow.proxy.rewriting.claims import is_claim, may_claim

INSTRUCTIONS = """
Boil the eggs and boil the water.
Put it in boiling water for eight minutes.
Add two cups of flour.
In a large bowl, combine flour and sugar.
Once the butter has melted, whisk in the flour.
Simmer for 20 minutes.
Cook rice for 20 minutes.
Cook until golden.
Then stir in the cream.
Salt the water generously.
Preheat oven to 350 degrees.
Place eggs in a bowl.
Water the plants twice a week.
Unscrew the two bolts.
Next, unplug the machine.
Don't use water on a grease fire.
Click Save.
Click the gear icon, then choose Settings.
Press Enter to continue.
Restart your router.
To reset it, hold the button for ten seconds.
Use Python to parse it.
Open the lid.
Press firmly on the wound.
Do not move the injured person.
Do not rush into business discussions.
Don't panic.
Be prepared with detailed information.
When introducing yourself, always start with the most senior person.
Never mix bleach with ammonia.
Always wear gloves.
Apply pressure to the wound.
Tilt the head back slightly.
If it bleeds heavily, press a clean cloth on it.
Rest in a dark room.
Cool the burn under running water for 20 minutes.
Record the date.
Exercise regularly.
Be careful with knives.
Set aside.
""".strip().splitlines()

STATEMENTS = """
Water boils at 100 degrees Celsius.
Water freezes at 0 degrees Celsius.
Place names often end in "-ton".
Plant cells contain chloroplasts.
Cook was born in 1728.
Cook sailed to Tahiti in 1769.
Cook County is in Illinois.
Salt lowers the freezing point of water.
Salt and pepper
Lead is toxic.
Don't Look Up was released in 2021.
Be My Baby was recorded in 1963.
Light travels faster than sound.
Light waves travel at the same speed.
Record sales helped the label.
Press freedom declined in 2019.
Research shows that it works.
Research on sleep shows that it helps memory.
Work on the bridge began in 1870.
Change in temperature causes wind.
Play is older than culture.
Sleep deprivation impairs memory.
Ground beef contains fat.
Start dates differ by country.
Clean water is scarce.
Open source software is free.
Use of asbestos was banned in 1999.
Use cases are described in chapter two.
State law forbids it.
Stock prices fell.
Share prices fell by 4 %.
Train services resumed in 1946.
Test results are kept.
Set in Paris, the novel follows a spy.
Put simply, it is a tax.
In football, set pieces are important.
In 1990, record companies sued.
Drive My Car
Stand by Me
Let It Be
Get Out was directed by Jordan Peele.
Kill Bill was released in 2003.
Meet the Parents was released in 2000.
Speak Now was released in 2010.
Pierce signed the act.
Grant won the election in 1868.
""".strip().splitlines()


@pytest.mark.parametrize("sentence", INSTRUCTIONS)
def test_an_instruction_is_left_alone(sentence: str) -> None:
    """Neither hedged as an answer nor taken for a claim in a longer one."""
    assert instructs(sentence)
    assert not may_claim(sentence)
    assert not is_claim(sentence)


@pytest.mark.parametrize("sentence", STATEMENTS)
def test_a_statement_that_opens_with_such_a_word_can_be_hedged(sentence: str) -> None:
    assert not instructs(sentence)
    assert may_claim(sentence)
    assert shape(sentence).kind in ("clause", "fragment")


def test_no_word_stands_in_both_lists() -> None:
    assert not VERBS & NOUNS_TOO
