"""Word lists that the rules read: small, general, and not fitted to any data set."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from hedgerow.lexicon.text.words import MONTHS, word_set

ARTICLES = word_set("a an the")

FILLERS = word_set("""a an the is are was were be been being it its this that these those there here he she they his her their i my you your we our
    of in on at by for from to with as and or & about around approximately roughly some typically usually generally often
    mostly mainly primarily commonly also known called named simply just only actually currently originally officially specifically
    does do did has have had who which what when where how whose can could would will s e g ie eg mr mrs ms dr sir
    answer estimated located exactly go goes went gone come comes came out took take takes place happened happen happens premiered released
    release aired began begun begin begins started start starts""")
"""Words that say nothing of their own in a short answer."""

QUALIFIERS = word_set("""north south east west northern southern eastern western northeast northwest southeast southwest northeastern northwestern southeastern
    southwestern new greater lesser upper lower inner outer anti non half former step pre post sub semi quasi great grand grandson law mid central""")
"""Words that make another thing of the name or noun that they stand beside."""
KINDS = word_set("""city town village state county country province region district republic kingdom island islands river mountain mountains range lake sea ocean
    desert street road avenue airport university college school church building company corporation inc ltd co movie film book novel song
    album series show season episode band family family's sir dr mr mrs ms lord lady saint president king queen prince princess emperor pope general captain
    colonel professor doctor senator governor minister count duke earl baron hrh effect tv television jr sr junior senior esq obe mbe
    year years times people total number force game area project surname""")
"""Words that say what kind of thing a name or number is of, and add nothing to it."""
YES = word_set("yes yeah yep yup true correct indeed right definitely certainly absolutely")
NO = word_set("no nope nah false incorrect wrong untrue")
PASSIVE = word_set("is are was were been being be got")
RELATIONS = word_set("than before after into onto from to beats beat defeated killed over under by")
MONTH_SHORT = {name[:3]: name for name in MONTHS} | {"sept": "september"}

_ANTONYMS = """
larger smaller; bigger smaller; greater smaller; greater less; more less; more fewer; higher lower; taller shorter; longer shorter; faster slower;
older younger; heavier lighter; hotter colder; warmer cooler; earlier later; before after; better worse; stronger weaker; richer poorer;
wider narrower; thicker thinner; deeper shallower; nearer farther; closer further; brighter dimmer; harder softer; harder easier;
large small; big small; high low; tall short; long short; fast slow; old young; old new; heavy light; hot cold; warm cool; early late;
good bad; strong weak; rich poor; wide narrow; thick thin; deep shallow; hard soft; hard easy; hard easy; dry wet; open closed; full empty;
largest smallest; biggest smallest; highest lowest; tallest shortest; longest shortest; fastest slowest; oldest youngest; oldest newest;
first last; best worst; most least; maximum minimum; max min; upper lower; top bottom; inner outer; internal external; inside outside;
interior exterior; front back; left right; north south; east west; northern southern; eastern western; northeast southwest; northwest southeast;
northeast northwest; southeast southwest; increase decrease; increases decreases; increased decreased; increasing decreasing; rise fall; rises falls; rose fell;
rising falling; grow shrink; grows shrinks; expand contract; expands contracts; gain lose; gains loses; gained lost; win lose; wins loses; won lost; accept reject;
accepted rejected; allow forbid; allowed forbidden; allowed prohibited; legal illegal; possible impossible; safe dangerous; safe unsafe;
alive dead; male female; man woman; men women; boy girl; king queen; father mother; son daughter; brother sister; husband wife;
positive negative; plus minus; even odd; odd even; hot cold; acid base; acidic basic; acidic alkaline; public private; guilty innocent;
true false; yes no; always never; everyone nobody; all none; everything nothing; present absent; start end; begin end; beginning end;
started ended; begins ends; arrive depart; arrival departure; enter exit; import export; imports exports; buy sell; bought sold; push pull; attack defend;
attacked defended; love hate; like dislike; agree disagree; agreed disagreed; agrees disagrees; success failure; succeeded failed; passed failed; passes fails;
victory defeat; parallel perpendicular; horizontal vertical; clockwise counterclockwise; clockwise anticlockwise; convex concave;
endothermic exothermic; aerobic anaerobic; mitosis meiosis; artery vein; arteries veins; input output; supply demand; import export;
credit debit; asset liability; debit credit; major minor; majority minority; ancient modern; day night; morning evening; summer winter;
bc ad; bce ce; bc ce; bce ad; am pm; sunrise sunset; dawn dusk; ascending descending; above below; over under; up down; forward backward;
forwards backwards; near far; common rare; frequent rare; visible invisible; married unmarried; divorced married; solid liquid; solid gas; liquid gas;
conductor insulator; optimist pessimist; simple complex; natural artificial; temporary permanent; voluntary involuntary; direct indirect; active inactive;
active passive; regular irregular; moral immoral; mature immature; complete incomplete; edible inedible; stable unstable; happy unhappy; happy sad; fair unfair;
healthy unhealthy; healthy sick; known unknown; equal unequal; likely unlikely; able unable; necessary unnecessary; constitutional unconstitutional;
mortal immortal; renewable nonrenewable; soluble insoluble; vertebrate invertebrate; vertebrates invertebrates; prokaryotic eukaryotic; reversible irreversible;
absorb emit; absorbs emits; absorbed emitted; ally enemy; friend enemy; hero villain; teacher student; employer employee; predator prey; freezing boiling;
freeze boil; freezes boils; melt freeze; melts freezes; literate illiterate; democrat republican; democratic republican; liberal conservative; buyer seller; cause effect
"""
ANTONYMS: dict[str, frozenset[str]] = {}
for _pair in _ANTONYMS.replace("\n", " ").split(";"):
    _x, _y = _pair.split()
    ANTONYMS[_x] = ANTONYMS.get(_x, frozenset()) | {_y}
    ANTONYMS[_y] = ANTONYMS.get(_y, frozenset()) | {_x}

_NICKNAMES = """
william bill billy will willy; robert bob bobby rob robbie; james jim jimmy jamie; john jack johnny; richard dick rick ricky rich; edward ed eddie ted ned;
charles charlie chuck; thomas tom tommy; joseph joe joey; michael mike mick mickey; david dave davey; daniel dan danny; samuel sam sammy; benjamin ben;
andrew andy drew; anthony tony; christopher chris; matthew matt; nicholas nick nicky; patrick pat paddy; peter pete; philip phil phillip; stephen steve steven;
theodore ted teddy; timothy tim; gregory greg; jeffrey jeff geoffrey; lawrence larry; leonard leo len lenny; frederick fred freddie; francis frank; albert al bert;
alexander alex; donald don; douglas doug; eugene gene; gerald gerry jerry; harold harry hal; henry hank; kenneth ken kenny; raymond ray; ronald ron ronnie;
walter walt; elizabeth liz lizzie beth betty eliza; katherine kate katie kathy kathryn catherine cathy; margaret maggie meg peggy; mary molly; susan sue susie;
jennifer jenny jen; patricia pat patty trish; rebecca becky; deborah debbie; dorothy dot dottie; victoria vicky tori; alexandra alex sandra; abigail abby; pamela pam;
joshua josh; jonathan jon; jacob jake; nathaniel nathan nate; zachary zach zack; vincent vince; louis lou lewis; martin marty; arthur art; ernest ernie; barbara barb
"""
NICKNAMES: dict[str, frozenset[int]] = {}
for _i, _line in enumerate(_NICKNAMES.replace("\n", " ").split(";")):
    for _name in _line.split():
        NICKNAMES[_name] = NICKNAMES.get(_name, frozenset()) | {_i}

_ALIASES = """
united states = usa = us = america = united states of america = u s = u s a = the states; united kingdom = uk = great britain = britain;
soviet union = ussr = union of soviet socialist republics; united arab emirates = uae; new york city = nyc = new york new york;
los angeles = la; washington dc = district of columbia = washington district of columbia; holland = netherlands; burma = myanmar; persia = iran; czechia = czech republic;
ivory coast = cote d'ivoire; cape verde = cabo verde; swaziland = eswatini; european union = eu; united nations = un; bombay = mumbai; peking = beijing;
samuel clemens = mark twain = samuel langhorne clemens; eric blair = george orwell = eric arthur blair; jfk = john f kennedy = john fitzgerald kennedy;
fdr = franklin d roosevelt = franklin delano roosevelt; mlk = martin luther king = martin luther king junior = martin luther king jr;
lbj = lyndon b johnson = lyndon baines johnson; world war 1 = ww1 = wwi = 1 world war = great war; world war 2 = ww2 = wwii = 2 world war;
television = tv; water = h 2 o; carbon dioxide = co 2; sodium chloride = table salt = nacl; deoxyribonucleic acid = dna; ribonucleic acid = rna;
marie curie = maria sklodowska curie = marie sklodowska curie; muhammad ali = cassius clay; mother teresa = saint teresa of calcutta;
el salvador = republic of el salvador; russia = russian federation; south korea = republic of korea; north korea = dprk = democratic people's republic of korea;
china = people's republic of china = prc; turkey = turkiye; vitamin c = ascorbic acid; football = soccer; vatican = vatican city = holy see
"""
ALIASES: dict[str, str] = {}
for _line in _ALIASES.replace("\n", " ").split(";"):
    _names = [_name.strip() for _name in _line.split("=")]
    for _name in _names:
        ALIASES[_name.removeprefix("the ")] = _names[0]

_UNITS = """
length 1 m metre metres meter meters; length 1000 km kilometre kilometres kilometer kilometers kms; length 0.01 cm centimetre centimetres centimeter centimeters;
length 0.001 mm millimetre millimetres millimeter millimeters; length 1609.344 mile miles mi; length 0.3048 foot feet ft; length 0.0254 inch inches in;
length 0.9144 yard yards yd yds; mass 1 g gram grams gramme grammes; mass 1000 kg kilogram kilograms kilo kilos kgs; mass 0.001 mg milligram milligrams;
mass 1000000 tonne tonnes; mass 453.59237 pound pounds lb lbs; mass 28.349523125 ounce ounces oz; mass 907184.74 ton tons;
time 1 second seconds sec secs; time 60 minute minutes min mins; time 3600 hour hours hr hrs; time 86400 day days; time 604800 week weeks;
months 1 month months; months 12 year years yr yrs; months 120 decade decades; months 1200 century centuries;
volume 1 litre litres liter liters l; volume 0.001 ml millilitre millilitres milliliter milliliters; volume 3.785411784 gallon gallons gal;
dollar 1 dollar dollars $ usd; dollar 0.01 cent cents; euro 1 euro euros eur €; sterling 1 £ gbp quid; yen 1 yen jpy ¥; peso 1 peso pesos ₱ php; rupee 1 rupee rupees inr ₹;
share 1 percent % pct; celsius 1 celsius centigrade °c; fahrenheit 1 fahrenheit °f; kelvin 1 kelvin kelvins; degree 1 degree degrees °;
bytes 1 byte bytes; bytes 1000 kb kilobyte kilobytes; bytes 1000000 mb megabyte megabytes; bytes 1000000000 gb gigabyte gigabytes; bytes 1000000000000 tb terabyte terabytes;
bits 1 bit bits; bits 1000000000 gbit gigabit gigabits; bits 1000000 mbit megabit megabits; energy 1 joule joules j; energy 1000 kj kilojoule kilojoules; energy 4184 kcal calories;
power 1 watt watts w; power 1000 kw kilowatt kilowatts; volt 1 volt volts v; frequency 1 hz hertz; frequency 1000 khz; frequency 1000000 mhz; frequency 1000000000 ghz;
speed 1 kmh kph; speed 1.609344 mph
"""


class Unit(NamedTuple):
    """A unit of measurement; `size` is in the base unit of its dimension."""

    name: str
    dimension: str
    size: Decimal


UNITS: dict[str, Unit] = {}
"""Units by each of their spellings."""
for _line in _UNITS.replace("\n", " ").split(";"):
    _dimension, _size, *_names = _line.split()
    for _name in _names:
        UNITS[_name] = Unit(_names[0], _dimension, Decimal(_size))
CURRENCIES = frozenset("$€£¥₱₹")
