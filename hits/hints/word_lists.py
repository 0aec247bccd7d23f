"""Word lists of the rules, for English only."""


def _split(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words of inferences that captions lack: doubt, time, cause, purpose, the mind, absent things.
INTERPRETING = _split("""
    might may maybe could can will would shall should must probably possibly perhaps likely unlikely certainly
    surely obviously apparently seems seem seemingly appears appear looks suggests means implies indicates
    was were had been has have having just already recently yet soon later before after earlier ago today tonight
    tomorrow yesterday now still again once always often usually never ever every first last next-door until since
    because so therefore thus hence order while for not no nobody nothing none without cannot
    want wants wanted need needs needed know knows think thinks feel feels hope hopes plan plans planning intend
    intends decide decided try trying waiting waits wait expecting preparing prepares prepared celebrating
    enjoy enjoys enjoying love loves like likes prefer prefers care cares afraid happy sad excited bored tired hungry
    thirsty busy late early someone somebody anyone owner belongs belong lives live works work owns own
    popular expensive cheap rich poor famous fancy special new formal homemade home-made
    """)
# First words of captions: indefinite words and numbers. Definite words count only before a visible verb.
INDEFINITE = _split(
    "a an one two three four five six seven eight nine ten several some many few lots couple group"
)
DEFINITE = _split("the this that these those")
PEOPLE = _split("man men woman women boy girl boys girls people person persons child children kid kids")
BE = _split("is are")
SMALL_ADVERBS = _split("currently all both each together also only quietly simply")

# Things that a camera records: posture, motion, contact, position.
VISIBLE_ING = _split("""
    standing sitting lying laying leaning kneeling crouching squatting hanging walking running jumping riding driving
    flying floating swimming skating skateboarding surfing skiing climbing holding carrying wearing pulling pushing
    throwing catching hitting swinging kicking playing looking staring gazing facing smiling laughing eating drinking
    feeding cutting cooking pouring pointing reaching touching talking speaking reading writing typing sleeping
    resting traveling travelling crossing parked performing doing showing covering surrounding displaying featuring
    """)
VISIBLE_PAST = _split(
    "parked surrounded covered filled tied leashed seated gathered stacked mounted placed lined topped"
)
VISIBLE_PRESENT = _split("sits stands lies leans hangs holds wears rides flies rests sit stand lie hold ride")
PLACING = _split("""
    on in under underneath beside behind near between above below atop against inside outside by with next over
    across around along
    """)

# Words that a question about any image may consist of: question words, pronouns, auxiliaries, and empty nouns.
EMPTY_WORDS = _split("""
    what why who whom whose where when which how is are was were be been being am do does did doing done has have had
    having will would can could may might must shall should a an the this that these those it its he she they them
    their his her him i you we us our your my me there here going on in at of to for from by with about as and or
    but not no so then now next before after later happen happens happened happening think thinks thinking feel feels
    feeling look looks looking see seen picture photo image scene place thing things something anything someone
    anyone somebody anybody everyone everybody people person kind sort way s t re ve ll d
    """)

PICTURES = _split("picture photo photograph image close-up closeup up view shot scene diorama cartoon")

NEGATIONS = _split("not no never cannot nobody nothing none without neither nor")
ANTONYMS = frozenset(
    frozenset(pair.split("/"))
    for pair in _split(
        """
    indoors/outdoors inside/outside day/night daytime/nighttime morning/evening morning/night summer/winter
    hot/cold warm/cold new/old young/old happy/sad happy/angry rich/poor open/closed empty/full before/after
    first/last arriving/leaving arrived/left starting/ending started/ended clean/dirty wet/dry public/private
    safe/dangerous likely/unlikely alone/together single/married expensive/cheap busy/quiet awake/asleep
    alive/dead early/late strangers/friends professional/amateur urban/rural city/countryside
    """
    )
)

# Curated, not complete: insults, slurs and swear words without an innocent everyday meaning. Left out are mild words,
# and names of animals, birds, plants and people that are also swear words.
PROFANITY = (
    "fuck", "fucks", "fucked", "fucker", "fuckers", "fucking", "motherfucker", "motherfuckers", "motherfucking",
    "shit", "shits", "shitty", "bullshit", "crap", "crappy", "asshole", "assholes", "arsehole", "arseholes",
    "dumbass", "jackass", "bitch", "bitches", "bitchy", "bastard", "bastards", "cunt", "cunts", "twat", "twats",
    "wanker", "wankers", "dickhead", "dickheads", "slut", "sluts", "slutty", "whore", "whores", "piss", "pissed",
    "retard", "retards", "retarded", "faggot", "faggots", "tranny", "trannies", "nigger", "niggers", "nigga",
    "niggas", "kike", "kikes", "wetback", "wetbacks", "gook", "gooks", "raghead", "ragheads", "moron", "morons",
)  # fmt: skip
