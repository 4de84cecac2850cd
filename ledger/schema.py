"""All DDL of the ledger, one comment per column, and the version that a database carries.

The invariant this module protects: nothing outside it creates, alters or drops a table. A change
of the schema is a new entry in `ledger/migrations.py` and a new `SCHEMA_VERSION`; the statements
here always describe the newest shape.

Times are integers: milliseconds since the Unix epoch, UTC, unless a comment says otherwise.
"""

from __future__ import annotations

from typing import Final

SCHEMA_VERSION: Final = 1
"""Value of `PRAGMA user_version` in a database of this shape."""

APPLICATION_ID: Final = 0x57535452
"""Value of `PRAGMA application_id`: "WSTR"."""

DDL: Final[tuple[str, ...]] = (
    f"PRAGMA application_id = {APPLICATION_ID}",
    """
    CREATE TABLE store_meta (
        key   TEXT PRIMARY KEY,  -- store_id, host_id, tag_key (HMAC key), created_at
        value BLOB NOT NULL      -- text or raw bytes, by key
    )
    """,
    """
    CREATE TABLE repository (
        id         TEXT PRIMARY KEY,  -- random, never derived from a path
        name       TEXT NOT NULL,     -- for people: last part of the directory
        kind       TEXT NOT NULL CHECK (kind IN ('git', 'directory')),
        created_at INTEGER NOT NULL
    )
    """,
    """
    CREATE TABLE repository_key (
        repository TEXT NOT NULL REFERENCES repository(id),
        kind       TEXT NOT NULL CHECK (kind IN ('common_dir', 'inode', 'roots', 'directory')),
        value      TEXT NOT NULL,     -- realpath, "device:inode", digest of roots + remote, realpath
        updated_at INTEGER NOT NULL,
        PRIMARY KEY (kind, value, repository)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE workstream (
        id           INTEGER PRIMARY KEY,
        uid          TEXT NOT NULL UNIQUE,   -- random; stable across renames, backups and hosts
        repository   TEXT NOT NULL REFERENCES repository(id),
        name         TEXT NOT NULL,
        objective    TEXT,                   -- the person's own words, or NULL
        objective_by TEXT,                   -- who gave it
        objective_at INTEGER,
        created_at   INTEGER NOT NULL,
        archived_at  INTEGER,                -- set: hidden from `list`, never resumed by default
        head_seq     INTEGER NOT NULL DEFAULT 0,  -- seq of the newest event; gapless from 1
        chain        BLOB NOT NULL,          -- chain value of the newest event (32 zero bytes at first)
        UNIQUE (repository, name)
    )
    """,
    """
    CREATE TABLE worktree_choice (
        repository TEXT NOT NULL REFERENCES repository(id),
        worktree   TEXT NOT NULL,            -- realpath of the work tree (or plain directory)
        workstream INTEGER NOT NULL REFERENCES workstream(id),
        run_at     INTEGER NOT NULL,         -- when it was last run there
        PRIMARY KEY (repository, worktree)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE lease (
        workstream   INTEGER PRIMARY KEY REFERENCES workstream(id),
        token        INTEGER NOT NULL,       -- fencing token: max(last + 1, Unix microseconds)
        run          TEXT,                   -- NULL: free (the row stays, for the token)
        purpose      TEXT,                   -- 'run', 'handoff', 'maintenance'
        host_id      TEXT,                   -- of the holder
        boot_id      TEXT,
        pid_ns       INTEGER,                -- inode of the pid namespace, 0 where unknown
        pid          INTEGER,
        pid_start    INTEGER,                -- process start time (clock ticks since boot on Linux)
        user         TEXT,
        terminal     TEXT,                   -- tty name or tmux pane
        harness      TEXT,                   -- harness entry being run
        child_pid    INTEGER,
        child_start  INTEGER,
        acquired_at  INTEGER,                -- store clock
        renewed_at   INTEGER,                -- store clock
        renewed_boot INTEGER,                -- CLOCK_BOOTTIME ms of that renewal, valid within boot_id
        expires_at   INTEGER                 -- store clock
    )
    """,
    """
    CREATE TABLE native_store (
        id      INTEGER PRIMARY KEY,
        harness TEXT NOT NULL,               -- adapter name
        home    TEXT NOT NULL,               -- realpath of the store home
        UNIQUE (harness, home)
    )
    """,
    """
    CREATE TABLE session (
        id            INTEGER PRIMARY KEY,
        workstream    INTEGER NOT NULL REFERENCES workstream(id),
        store         INTEGER NOT NULL REFERENCES native_store(id),
        harness       TEXT NOT NULL,         -- adapter name
        entry         TEXT NOT NULL,         -- harness entry it was linked under
        native_id     TEXT NOT NULL,
        store_path    TEXT,                  -- where its main file was last found; a hint, never an identity
        cwd           TEXT,                  -- last working directory recorded in it
        parent_native TEXT,                  -- native id of the session it was forked from
        model         TEXT,
        provider      TEXT,
        version       TEXT,                  -- newest harness version recorded in it
        title         TEXT,
        one_shot      INTEGER NOT NULL DEFAULT 0,
        origin        TEXT NOT NULL CHECK (origin IN ('run', 'outside', 'archive')),
        deliver       INTEGER NOT NULL DEFAULT 1,  -- 0: archive, in no briefing
        born          TEXT,                  -- hook source it was first seen with: startup, clear, fork, ...
        born_through  INTEGER NOT NULL DEFAULT 0,  -- events up to this seq count as seen from birth (clear)
        state         TEXT NOT NULL DEFAULT 'present'
                      CHECK (state IN ('present', 'archived', 'missing', 'unreadable')),
        state_detail  TEXT,
        started_at    INTEGER,               -- first record's own time
        last_at       INTEGER,               -- last record's own time
        linked_at     INTEGER NOT NULL,
        UNIQUE (store, native_id)
    )
    """,
    "CREATE INDEX session_workstream ON session (workstream)",
    """
    CREATE TABLE link (
        workstream INTEGER NOT NULL REFERENCES workstream(id),
        entry      TEXT NOT NULL,            -- harness entry
        store      INTEGER NOT NULL REFERENCES native_store(id),
        one_shot   INTEGER NOT NULL,
        session    INTEGER NOT NULL REFERENCES session(id),  -- the current one: what a run resumes
        run        TEXT,                     -- run that made it current
        updated_at INTEGER NOT NULL,
        PRIMARY KEY (workstream, entry, store, one_shot)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE cursor (
        session    INTEGER PRIMARY KEY REFERENCES session(id),
        version    INTEGER NOT NULL,         -- compare-and-swap counter
        state      TEXT NOT NULL,            -- the reader's own JSON: file identity, offset, digests
        signature  TEXT NOT NULL,            -- stat signature of the source files after the import
        updated_at INTEGER NOT NULL
    )
    """,
    """
    CREATE TABLE node (
        session INTEGER NOT NULL,
        uuid    TEXT NOT NULL,               -- record id in a tree store
        parent  TEXT,
        depth   INTEGER NOT NULL,            -- distance from the root, parents counted
        record  INTEGER NOT NULL,            -- number of the native record, as in membership
        active  INTEGER NOT NULL,            -- on the active chain
        PRIMARY KEY (session, uuid)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX node_parent ON node (session, parent)",
    """
    CREATE TABLE context (
        id    INTEGER PRIMARY KEY,
        owner TEXT NOT NULL,                 -- user name of the person
        host  TEXT NOT NULL,                 -- host id
        store INTEGER,                       -- native_store.id
        cwd   TEXT,
        head  TEXT,                          -- git head at import of a run's events, when known
        UNIQUE (owner, host, store, cwd, head)
    )
    """,
    """
    CREATE TABLE event (
        eid            INTEGER PRIMARY KEY,  -- row id, also the row id in the search index
        workstream     INTEGER NOT NULL REFERENCES workstream(id),
        seq            INTEGER NOT NULL,     -- gapless from 1 in the workstream
        event_id       TEXT NOT NULL,        -- tag + digest of the native identity
        kind           TEXT NOT NULL,
        role           TEXT,
        harness        TEXT,                 -- harness entry; NULL for our own events
        session        INTEGER,              -- first session that carried it; NULL for our own events
        call_id        TEXT,
        tool           TEXT,
        exit_code      INTEGER,
        status         TEXT,                 -- ok, error, interrupted, unknown; loss reason of an annotation
        occurred_at    INTEGER NOT NULL,     -- the source's own time
        imported_at    INTEGER NOT NULL,
        turn           TEXT,
        context        INTEGER NOT NULL REFERENCES context(id),
        run            TEXT,
        origin         TEXT NOT NULL,
        scrub_version  INTEGER NOT NULL,
        content_digest BLOB NOT NULL,        -- sha256(salt, canonical content as stored)
        chain          BLOB NOT NULL,        -- sha256(chain before, seq, event_id, content_digest)
        meta           TEXT,                 -- versioned JSON, no content
        UNIQUE (workstream, event_id),
        UNIQUE (workstream, seq)
    )
    """,
    # The person's own words of a long owed range are found without reading the range.
    "CREATE INDEX event_user ON event (workstream, seq) WHERE kind = 'user_message'",
    "CREATE INDEX event_run ON event (run) WHERE run IS NOT NULL",
    "CREATE INDEX event_compaction ON event (workstream, seq) WHERE kind = 'compaction'",
    """
    CREATE TABLE body (
        eid        INTEGER PRIMARY KEY REFERENCES event(eid),
        salt       BLOB NOT NULL,            -- 16 random bytes; with it gone the digest tells nothing
        codec      INTEGER NOT NULL,         -- 0 text as UTF-8 blob, 1 zlib
        data       BLOB NOT NULL,
        bytes      INTEGER NOT NULL,         -- length of the whole scrubbed text
        tool_input TEXT,                     -- scrubbed JSON
        source_tag BLOB NOT NULL             -- HMAC(tag_key, source content), to notice a changed source
    )
    """,
    """
    CREATE TABLE membership (
        session INTEGER NOT NULL,
        eid     INTEGER NOT NULL,
        depth   INTEGER NOT NULL,            -- conversation order: depth, record, block
        record  INTEGER NOT NULL,            -- number of the native record in the session
        block   INTEGER NOT NULL,
        active  INTEGER NOT NULL DEFAULT 1,  -- derived from the newest branch mark
        PRIMARY KEY (session, eid)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX membership_record ON membership (session, record)",
    # Branch state and carrying sessions of an event; eids grow, so that inserts append.
    "CREATE INDEX membership_event ON membership (eid, active)",
    """
    CREATE TABLE branch_mark (
        id      INTEGER PRIMARY KEY AUTOINCREMENT,
        session INTEGER NOT NULL,
        eid     INTEGER NOT NULL,
        state   TEXT NOT NULL CHECK (state IN ('active', 'superseded')),
        at_seq  INTEGER NOT NULL,            -- head_seq of the workstream when it was marked
        at      INTEGER NOT NULL
    )
    """,
    "CREATE INDEX branch_mark_session ON branch_mark (session, id)",
    """
    CREATE TABLE turn (
        session    INTEGER NOT NULL,
        turn       TEXT NOT NULL,
        state      TEXT NOT NULL CHECK (state IN ('open', 'complete', 'interrupted', 'failed')),
        error      TEXT,                     -- scrubbed
        started_at INTEGER,
        ended_at   INTEGER,
        record     INTEGER NOT NULL,         -- record of its end (or of its start while open)
        PRIMARY KEY (session, turn)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE plan_item (
        session  INTEGER NOT NULL,
        position INTEGER NOT NULL,
        text     TEXT NOT NULL,              -- scrubbed
        status   TEXT NOT NULL CHECK (status IN ('pending', 'in_progress', 'completed')),
        at       INTEGER NOT NULL,
        PRIMARY KEY (session, position)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE session_usage (
        session        INTEGER PRIMARY KEY,
        at             INTEGER NOT NULL,
        model          TEXT,
        context_tokens INTEGER,              -- tokens in the last request, as the harness recorded them
        limit_tokens   INTEGER,              -- context window, when the store has it
        output_tokens  INTEGER,
        compactions    INTEGER NOT NULL DEFAULT 0,  -- of this session; those before a fork are not counted
        exceeded_at    INTEGER               -- when the harness said that the context is full, NULL: not, or not any more
    )
    """,
    """
    CREATE TABLE provider_limit (
        id         INTEGER PRIMARY KEY,
        workstream INTEGER NOT NULL,
        session    INTEGER,
        entry      TEXT NOT NULL,
        message    TEXT NOT NULL,            -- scrubbed
        observed_at INTEGER NOT NULL,
        resets_at  INTEGER,
        run        TEXT,
        UNIQUE (session, observed_at)
    )
    """,
    """
    CREATE TABLE file_fact (
        id         INTEGER PRIMARY KEY,
        workstream INTEGER NOT NULL,
        session    INTEGER NOT NULL,
        agent      TEXT NOT NULL DEFAULT '', -- subagent id, '' for the session itself
        path       TEXT NOT NULL,
        action     TEXT NOT NULL CHECK (action IN ('read', 'edit', 'create', 'delete')),
        at         INTEGER NOT NULL,
        at_seq     INTEGER NOT NULL,         -- head_seq when it was recorded
        UNIQUE (session, agent, path, action, at)
    )
    """,
    "CREATE INDEX file_fact_workstream ON file_fact (workstream, at_seq)",
    """
    CREATE TABLE agent_check (
        session   INTEGER NOT NULL,
        agent     TEXT NOT NULL,             -- subagent id
        call_id   TEXT NOT NULL,
        command   TEXT NOT NULL,             -- scrubbed
        exit_code INTEGER,
        at        INTEGER NOT NULL,
        PRIMARY KEY (session, agent, call_id)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE left_out (
        session INTEGER NOT NULL,
        kind    TEXT NOT NULL,               -- class of record that is never stored: reasoning, injected, ...
        count   INTEGER NOT NULL,
        PRIMARY KEY (session, kind)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE run (
        id           TEXT PRIMARY KEY,
        workstream   INTEGER NOT NULL REFERENCES workstream(id),
        entry        TEXT NOT NULL,
        harness      TEXT NOT NULL,
        store        INTEGER NOT NULL REFERENCES native_store(id),
        token        INTEGER NOT NULL,       -- fencing token of the lease it ran under
        nonce        TEXT NOT NULL,          -- in delivery ids and receipts
        step         TEXT NOT NULL,          -- last step whose state is committed
        outcome      TEXT CHECK (outcome IN ('ended', 'abandoned', 'spawn_failed', 'lost')),
        one_shot     INTEGER NOT NULL,
        mode         TEXT,                   -- create, resume, fork, native
        native_id    TEXT,                   -- requested native session, when there is one
        cwd          TEXT NOT NULL,
        worktree     TEXT NOT NULL,
        argv         TEXT NOT NULL,          -- scrubbed JSON
        program      TEXT,                   -- version of the harness
        host_id      TEXT NOT NULL,
        boot_id      TEXT NOT NULL,
        pid_ns       INTEGER NOT NULL,
        pid          INTEGER NOT NULL,       -- launcher
        pid_start    INTEGER NOT NULL,
        child_pid    INTEGER,
        child_start  INTEGER,
        started_at   INTEGER NOT NULL,
        spawned_at   INTEGER,
        ended_at     INTEGER,
        closed_at    INTEGER,
        exit_code    INTEGER,
        signal       INTEGER,
        head_before  INTEGER NOT NULL DEFAULT 0,  -- head_seq when the run was planned
        summary      TEXT                    -- JSON of the finish: imported, annotations, durations
    )
    """,
    "CREATE INDEX run_workstream ON run (workstream, started_at)",
    """
    CREATE TABLE run_session (
        run     TEXT NOT NULL,
        session INTEGER NOT NULL,
        source  TEXT NOT NULL,               -- how the run touched it: startup, resume, clear, fork, found
        ordinal INTEGER NOT NULL,            -- order in which the run touched them
        PRIMARY KEY (run, session)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE briefing (
        id            INTEGER PRIMARY KEY,
        run           TEXT NOT NULL REFERENCES run(id),
        purpose       TEXT NOT NULL CHECK (purpose IN ('session', 'new', 'clear', 'compact')),
        session       INTEGER,               -- receiver it was composed for, NULL for a new one
        text          TEXT NOT NULL,         -- with the delivery placeholder
        bytes         INTEGER NOT NULL,
        after_seq     INTEGER NOT NULL,      -- delta range (after, through]
        through_seq   INTEGER NOT NULL,
        included      TEXT NOT NULL,         -- JSON list of [first, last] seq ranges
        omitted       TEXT NOT NULL,         -- JSON list of [first, last] seq ranges, still owed
        marks_through INTEGER NOT NULL,      -- branch_mark.id known to it
        notes_through INTEGER NOT NULL,      -- note.id known to it
        handoff       TEXT,                  -- digest of the handoff it carries
        created_at    INTEGER NOT NULL
    )
    """,
    "CREATE INDEX briefing_run ON briefing (run)",
    "CREATE INDEX briefing_handoff ON briefing (handoff) WHERE handoff IS NOT NULL",
    """
    CREATE TABLE delivery (
        id         TEXT PRIMARY KEY,         -- dlv_<run nonce>_<n>, one per printing
        run        TEXT NOT NULL REFERENCES run(id),
        briefing   INTEGER NOT NULL REFERENCES briefing(id),
        channel    TEXT NOT NULL,            -- hook, instructions, system_prompt, mcp
        state      TEXT NOT NULL CHECK (state IN
                   ('prepared', 'launched', 'seen', 'acknowledged', 'failed', 'unverified')),
        reason     TEXT,                     -- of failed and unverified
        session    INTEGER,                  -- receiver, once known
        source     TEXT,                     -- hook source it was printed for
        printed_at INTEGER,
        answer     INTEGER,                  -- without proof: first event with which the session answered, so that it was told
        updated_at INTEGER NOT NULL
    )
    """,
    "CREATE INDEX delivery_run ON delivery (run)",
    "CREATE INDEX delivery_answer ON delivery (answer) WHERE answer IS NOT NULL",
    """
    CREATE TABLE sighting (
        session     INTEGER NOT NULL,
        delivery    TEXT NOT NULL,           -- delivery id found in the native store
        depth       INTEGER NOT NULL,
        record      INTEGER NOT NULL,
        active      INTEGER NOT NULL,        -- on the active chain now
        found_at    INTEGER NOT NULL,
        PRIMARY KEY (session, delivery)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX sighting_delivery ON sighting (delivery)",
    "CREATE INDEX sighting_record ON sighting (session, record)",
    """
    CREATE TABLE note (
        id         INTEGER PRIMARY KEY AUTOINCREMENT,
        workstream INTEGER NOT NULL,
        kind       TEXT NOT NULL CHECK (kind IN ('note', 'dead_end')),
        text       TEXT NOT NULL,            -- scrubbed; the person's own words
        pinned     INTEGER NOT NULL DEFAULT 0,
        author     TEXT NOT NULL,            -- user name, or harness entry for a note made inside a run
        run        TEXT,
        receipt    TEXT UNIQUE,              -- digest of the receipt line it came from
        at         INTEGER NOT NULL,
        retired_at INTEGER
    )
    """,
    "CREATE INDEX note_workstream ON note (workstream, id)",
    """
    CREATE TABLE receipt (
        digest     TEXT PRIMARY KEY,         -- sha256 of the line, and of a call that repeats it
        workstream INTEGER NOT NULL,
        session    INTEGER NOT NULL,
        call_id    TEXT NOT NULL,            -- tool call whose result held it
        line       TEXT NOT NULL,            -- workstream-receipt/1 <run nonce> <base64url JSON>
        found_at   INTEGER NOT NULL,
        applied_at INTEGER,                  -- NULL: the run has not finished yet
        refused    TEXT                      -- why it was not applied
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE checkpoint (
        id           INTEGER PRIMARY KEY,
        workstream   INTEGER NOT NULL,
        run          TEXT,
        session      INTEGER,                -- session whose last turn it follows
        seq          INTEGER NOT NULL,       -- seq of its event
        at           INTEGER NOT NULL,
        worktree     TEXT NOT NULL,
        head         TEXT,
        tree         TEXT,
        branch       TEXT,
        dirty_digest TEXT,
        paths        TEXT NOT NULL,          -- JSON {path: [status, hash or null]} of the dirty state
        partial      TEXT                    -- why it is incomplete, or NULL
    )
    """,
    "CREATE INDEX checkpoint_workstream ON checkpoint (workstream, id)",
    """
    CREATE TABLE handoff_prepared (
        prepared_id    TEXT PRIMARY KEY,     -- prp_ + digits over scope, base and content digest
        workstream     INTEGER NOT NULL REFERENCES workstream(id),
        scope_id       TEXT NOT NULL,        -- workstream.uid
        base_revision  INTEGER,              -- revision it builds on, NULL for the first
        base_digest    TEXT,                 -- content digest of that revision
        content        TEXT NOT NULL,        -- canonical JSON, scrubbed
        content_digest TEXT NOT NULL,
        reasons        TEXT NOT NULL,        -- JSON list
        created_at     INTEGER NOT NULL,
        author         TEXT NOT NULL,        -- JSON {kind, session, harness, owner}
        author_kind    TEXT NOT NULL CHECK (author_kind IN ('human', 'agent', 'launcher')),
        author_session INTEGER,              -- session row of the agent, when known
        observations   TEXT NOT NULL,        -- JSON list of host observations; untrusted
        statement      TEXT,                 -- scrubbed: who says that the context got bad, and why
        policy         TEXT,                 -- JSON record of the rollover policy that led to it, or NULL
        warnings       TEXT NOT NULL DEFAULT '[]',  -- JSON list of findings that did not refuse it
        objective_digest TEXT,               -- of the objective the author was given, or NULL
        git            TEXT,                 -- JSON {head, branch, dirty_digest, tree}, or NULL
        at_seq         INTEGER NOT NULL,     -- head_seq of the workstream when it was prepared
        at_revision    INTEGER NOT NULL,     -- newest revision then, 0 for none: kept for two more
        run            TEXT,                 -- run inside which it was prepared
        receipt        TEXT UNIQUE,          -- digest of the receipt line it came from
        abandoned_at   INTEGER,
        queued_by      TEXT                  -- who asked to commit it when the live run ends, or NULL
    )
    """,
    "CREATE INDEX handoff_prepared_workstream ON handoff_prepared (workstream, created_at)",
    """
    CREATE TABLE handoff_revision (
        workstream     INTEGER NOT NULL REFERENCES workstream(id),
        revision       INTEGER NOT NULL,     -- gapless from 1
        scope_id       TEXT NOT NULL,
        content        TEXT NOT NULL,        -- canonical JSON
        content_digest TEXT NOT NULL,
        prepared_id    TEXT NOT NULL,
        committed_at   INTEGER NOT NULL,
        author         TEXT NOT NULL,        -- JSON, of whoever prepared it
        author_session INTEGER,              -- session row of the agent, when known
        committed_by   TEXT NOT NULL,        -- JSON, of whoever committed it
        warnings       TEXT NOT NULL DEFAULT '[]',  -- JSON list of findings that did not refuse it
        git            TEXT,                 -- JSON, as prepared
        at_seq         INTEGER NOT NULL,     -- head_seq of the workstream when it was prepared
        run            TEXT,
        PRIMARY KEY (workstream, revision),
        UNIQUE (workstream, prepared_id)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE handoff_head (
        workstream     INTEGER PRIMARY KEY REFERENCES workstream(id),
        revision       INTEGER NOT NULL,
        content_digest TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE handoff_draft (
        workstream     INTEGER NOT NULL REFERENCES workstream(id),
        directory      TEXT NOT NULL,        -- realpath of the work tree: one draft for each
        prepared_id    TEXT NOT NULL,
        content        TEXT NOT NULL,        -- canonical JSON
        content_digest TEXT NOT NULL,
        created_at     INTEGER NOT NULL,
        run            TEXT NOT NULL,        -- run at whose end it was made
        entry          TEXT NOT NULL,        -- harness entry of that run
        sessions       TEXT NOT NULL,        -- JSON list of session rows whose work it tells
        observations   TEXT NOT NULL,        -- JSON list of host observations; untrusted
        git            TEXT,                 -- JSON, or NULL
        at_seq         INTEGER NOT NULL,
        PRIMARY KEY (workstream, directory)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE handoff_transfer (
        workstream     INTEGER PRIMARY KEY REFERENCES workstream(id),  -- started from another's handoff
        source         INTEGER NOT NULL,     -- workstream it came from
        revision       INTEGER NOT NULL,     -- exact revision there
        prepared_id    TEXT NOT NULL,
        content        TEXT NOT NULL,        -- canonical JSON
        content_digest TEXT NOT NULL,
        author         TEXT NOT NULL,        -- JSON
        git            TEXT,
        at             INTEGER NOT NULL
    )
    """,
    """
    CREATE TABLE handoff_receipt (
        id              INTEGER PRIMARY KEY AUTOINCREMENT,
        workstream      INTEGER NOT NULL REFERENCES workstream(id),
        receipt_key     TEXT NOT NULL,
        payload_digest  TEXT NOT NULL,       -- same key + same payload: the same receipt
        target_digest   TEXT NOT NULL,       -- content digest of the target
        target_revision INTEGER,             -- NULL: a prepared record
        receiver        TEXT NOT NULL,       -- JSON {kind, session, harness, owner}
        session         INTEGER,             -- session row of the receiver, NULL for a person
        status          TEXT NOT NULL CHECK (status IN ('accepted', 'needs_clarification', 'declined')),
        checks          TEXT,                -- JSON {live_state, capability, authorization}, or NULL
        message         TEXT,                -- scrubbed
        evidence        TEXT NOT NULL,       -- JSON: state of each statement's evidence then
        relation        TEXT NOT NULL,       -- same, ahead, behind, diverged, unknown
        dirty           INTEGER,             -- NULL: not known
        position        INTEGER NOT NULL,    -- head_seq then
        run             TEXT,
        at              INTEGER NOT NULL,
        UNIQUE (workstream, receipt_key)
    )
    """,
    "CREATE INDEX handoff_receipt_target ON handoff_receipt (workstream, target_digest, id)",
    "CREATE INDEX handoff_receipt_newest ON handoff_receipt (workstream, id)",
    """
    CREATE TABLE handoff_outcome (
        id             INTEGER PRIMARY KEY AUTOINCREMENT,
        workstream     INTEGER NOT NULL REFERENCES workstream(id),
        outcome_key    TEXT NOT NULL,
        payload_digest TEXT NOT NULL,
        receipt_key    TEXT,                 -- NULL: covers no transfer
        status         TEXT NOT NULL CHECK (status IN
                       ('completed', 'partial', 'blocked', 'failed', 'abandoned', 'unknown')),
        summary        TEXT NOT NULL,        -- scrubbed
        checks         TEXT NOT NULL,        -- JSON list of {name, status, ref}
        remaining      TEXT NOT NULL,        -- JSON list, scrubbed
        by             TEXT NOT NULL,        -- JSON author
        run            TEXT,
        at             INTEGER NOT NULL,
        UNIQUE (workstream, outcome_key)
    )
    """,
    "CREATE INDEX handoff_outcome_receipt ON handoff_outcome (workstream, receipt_key, id)",
    """
    CREATE TABLE handoff_check (
        id            TEXT PRIMARY KEY,      -- chk_…, random
        workstream    INTEGER NOT NULL REFERENCES workstream(id),
        command       TEXT NOT NULL,         -- scrubbed
        cwd           TEXT NOT NULL,
        exit_code     INTEGER,               -- NULL: it could not be started
        status        TEXT NOT NULL,         -- passed, failed, unknown, unavailable, timed_out, skipped
        failures      INTEGER,               -- failing items by its own summary
        started_at    INTEGER NOT NULL,
        ended_at      INTEGER NOT NULL,
        output_digest TEXT NOT NULL,         -- sha256 of the whole output
        output_bytes  INTEGER NOT NULL,
        output        TEXT NOT NULL,         -- scrubbed head and tail
        worktree      TEXT NOT NULL,
        head          TEXT,
        tree          TEXT,
        branch        TEXT,
        dirty_digest  TEXT,
        paths         TEXT NOT NULL,         -- JSON {path: [status, hash or null]} of the dirty state
        partial       TEXT,                  -- why that state is incomplete, or NULL
        run           TEXT,
        owner         TEXT NOT NULL
    )
    """,
    "CREATE INDEX handoff_check_workstream ON handoff_check (workstream, ended_at)",
    """
    CREATE TABLE tombstone (
        scope TEXT NOT NULL CHECK (scope IN ('event', 'session', 'workstream')),
        key   TEXT NOT NULL,                 -- event id, "harness:native id", workstream uid
        who   TEXT NOT NULL,
        at    INTEGER NOT NULL,
        why   TEXT,
        PRIMARY KEY (scope, key)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE backup_record (
        path       TEXT PRIMARY KEY,
        created_at INTEGER NOT NULL,
        head       TEXT NOT NULL             -- JSON {workstream uid: head_seq}
    ) WITHOUT ROWID
    """,
    """
    CREATE VIRTUAL TABLE search USING fts5 (
        scope,                               -- "w<workstream id> k<kind>": narrows a query inside the index
        text,                                -- folded text
        content = '',
        tokenize = 'unicode61 remove_diacritics 2'
    )
    """,
    """
    CREATE TRIGGER event_is_immutable BEFORE UPDATE ON event
    BEGIN SELECT RAISE(ABORT, 'event rows are append-only'); END
    """,
    """
    CREATE TRIGGER event_stays BEFORE DELETE ON event
    BEGIN SELECT RAISE(ABORT, 'event rows are append-only'); END
    """,
)
