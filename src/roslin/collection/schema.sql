-- One collection. `number` is the position of a melody in the note arrays beside this file.
-- Features and strings live in tables of their own: narrow rows, so that a filter reads little.

CREATE TABLE IF NOT EXISTS about (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS melodies (
    number        INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    title         TEXT,
    composer      TEXT,
    voice         TEXT,
    key           TEXT,
    metre         TEXT,
    text          TEXT,
    source        TEXT,
    music         TEXT,
    notation      TEXT,
    clef          TEXT,
    key_signature TEXT,
    changes       TEXT,   -- JSON list of [onset_ticks, clef, key_signature, metre]; null when there are none
    extra         TEXT,   -- JSON object; null when empty
    digest        BLOB NOT NULL   -- of the notes: tells whether two melodies under one id are the same
);

-- The catalogue records that melodies come from, with a digest of what was read of each; an update reads what differs.
CREATE TABLE IF NOT EXISTS records (
    record     TEXT PRIMARY KEY,
    identifier TEXT NOT NULL,   -- its name in OAI-PMH, or nothing
    digest     BLOB NOT NULL    -- empty: the record was met twice, with other content
) WITHOUT ROWID;

-- The bytes of these records, as digests, and of records without incipits (no digest of what was read): an export in
-- which they are unchanged is not parsed there. A row whose digest is not that of the record now means nothing.
CREATE TABLE IF NOT EXISTS raw (
    bytes  BLOB PRIMARY KEY,
    record TEXT NOT NULL,
    digest BLOB
) WITHOUT ROWID;

-- Incipits with a clef, a key signature or a metre and no notes: they are shown, and nothing ever finds them.
CREATE TABLE IF NOT EXISTS silent (
    id     TEXT PRIMARY KEY,
    record TEXT NOT NULL,
    melody TEXT NOT NULL   -- JSON object, by the names of what a melody knows
) WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS silent_by_record ON silent (record);

-- What filters look for: without accents, in lower case (folding.py). The last three come from `extra` above.
CREATE TABLE IF NOT EXISTS folded (
    number   INTEGER PRIMARY KEY,
    title    TEXT,
    composer TEXT,
    voice    TEXT,
    key      TEXT,
    metre    TEXT,
    text     TEXT,
    source   TEXT,
    scoring  TEXT,
    library  TEXT,   -- its siglum, or the source
    date     TEXT    -- the year in which it begins, four digits
);

-- Numbers of Typke et al. (2007), section 3.1. Null where a melody has too few notes to have them.
CREATE TABLE IF NOT EXISTS features (
    number         INTEGER PRIMARY KEY,
    note_count     INTEGER NOT NULL,
    pitch_range    INTEGER,   -- semitones between the lowest and the highest note
    max_interval   INTEGER,   -- semitones, the largest step between two notes that follow each other
    duration_ratio REAL       -- shortest note over longest note, in (0, 1]
);

-- Filters jump along it: whole-number ranges are asked as lists of values.
CREATE INDEX IF NOT EXISTS features_by_size ON features (pitch_range, max_interval, duration_ratio, note_count);

-- One letter for each pair of notes that follow each other (represent/strings.py).
CREATE TABLE IF NOT EXISTS strings (
    number    INTEGER PRIMARY KEY,
    chromatic TEXT NOT NULL,
    diatonic  TEXT NOT NULL,
    contour   TEXT NOT NULL,
    rhythm    TEXT NOT NULL
);

-- Finds a sequence of three or more intervals without reading every string.
CREATE VIRTUAL TABLE IF NOT EXISTS interval_index USING fts5 (
    chromatic, diatonic, content = 'strings', content_rowid = 'number',
    tokenize = 'trigram case_sensitive 1', columnsize = 0
);

CREATE TABLE IF NOT EXISTS motives (
    number      INTEGER NOT NULL,
    motive      TEXT NOT NULL,     -- chromatic interval string
    occurrences INTEGER NOT NULL,
    PRIMARY KEY (number, motive)
) WITHOUT ROWID;
