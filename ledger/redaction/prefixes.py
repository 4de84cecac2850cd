"""Provider tokens that a fixed prefix gives away.

Each row is (type, prefixes, body).  The prefix is the cheap gate: it is looked for only in the
text's long unbroken runs, and a row's pattern is compiled at its first hit.  Bodies end in an
open-ended character class, so that a match consumes what it read and the scan stays linear.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORTEST_RUN: Final = 20
"""No token in this table is shorter than this many bytes of ``[A-Za-z0-9_.-]``."""

_WORD: Final = rb"[A-Za-z0-9_-]"
_ALNUM: Final = rb"[A-Za-z0-9]"
_HEX: Final = rb"[0-9A-Fa-f]"

_JWT_TAIL: Final = (
    rb"[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?(?:\.[A-Za-z0-9_-]+){0,2}"
)


class PrefixRule(NamedTuple):
    """One family: marker type, literal prefixes, what follows, whether digits are demanded.

    ``mixed`` guards prefixes that ordinary identifiers also start with (``sk-``): the match
    must hold at least two digits.
    """

    kind: str
    prefixes: tuple[bytes, ...]
    body: bytes
    mixed: bool = False


RULES: Final[tuple[PrefixRule, ...]] = (
    PrefixRule("github-token", (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_"), rb"\w{20,}"),
    PrefixRule("github-token", (b"github_pat_",), rb"\w{20,}"),
    PrefixRule("anthropic-key", (b"sk-ant-",), _WORD + rb"{16,}"),
    PrefixRule("openrouter-key", (b"sk-or-",), _WORD + rb"{20,}", mixed=True),
    PrefixRule("langfuse-key", (b"sk-lf-",), _WORD + rb"{20,}", mixed=True),
    PrefixRule(
        "openai-key",
        (b"sk-proj-", b"sk-svcacct-", b"sk-admin-", b"sk-None-"),
        _WORD + rb"{16,}",
    ),
    PrefixRule("openai-key", (b"sk-", b"sess-"), _WORD + rb"{18,}", mixed=True),
    PrefixRule(
        "slack-token",
        (b"xoxb-", b"xoxp-", b"xoxa-", b"xoxs-", b"xoxr-", b"xoxc-", b"xoxd-", b"xoxo-"),
        rb"[A-Za-z0-9%_-]{15,}",
    ),
    PrefixRule("slack-token", (b"xoxe-", b"xoxe.", b"xapp-", b"xwfp-"), rb"[A-Za-z0-9._-]{15,}"),
    PrefixRule(
        "aws-access-key-id", (b"AKIA", b"ASIA", b"ABIA", b"ACCA"), rb"[A-Z0-9]{16}(?![A-Za-z0-9])"
    ),
    PrefixRule("aws-bedrock-key", (b"ABSK",), rb"[A-Za-z0-9+/]{40,}={0,2}", mixed=True),
    PrefixRule("google-api-key", (b"AIza",), _WORD + rb"{30,}"),
    PrefixRule("google-oauth-token", (b"ya29.",), _WORD + rb"{15,}"),
    PrefixRule("google-client-secret", (b"GOCSPX-",), _WORD + rb"{16,}"),
    PrefixRule(
        "stripe-key",
        (b"sk_live_", b"sk_test_", b"rk_live_", b"rk_test_", b"sk_org_"),
        _ALNUM + rb"{12,}",
    ),
    PrefixRule("stripe-webhook-secret", (b"whsec_",), rb"[A-Za-z0-9+/=]{16,}"),
    PrefixRule(
        "gitlab-token",
        (
            *(b"glpat-", b"gldt-", b"glrt-", b"glptt-", b"glcbt-", b"glft-", b"glsoat-"),
            *(b"glagent-", b"glimt-", b"gloas-", b"glffct-", b"GR1348941"),
        ),
        rb"[A-Za-z0-9_-]{16,}(?:\.[A-Za-z0-9_-]{2,}){0,2}",
    ),
    PrefixRule("npm-token", (b"npm_",), _ALNUM + rb"{30,}"),
    PrefixRule("pypi-token", (b"pypi-AgE",), _WORD + rb"{16,}"),
    PrefixRule("huggingface-token", (b"hf_", b"api_org_"), _ALNUM + rb"{28,}"),
    PrefixRule("digitalocean-token", (b"dop_v1_", b"doo_v1_", b"dor_v1_"), _HEX + rb"{32,}"),
    PrefixRule("sendgrid-key", (b"SG.",), rb"[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    PrefixRule("twilio-key", (b"SK", b"AC"), rb"[0-9a-f]{32}(?![A-Za-z0-9])"),
    PrefixRule("jwt", (b"eyJ",), _JWT_TAIL),
    PrefixRule("grafana-token", (b"glsa_", b"glc_", b"eyJrIjoi"), rb"[A-Za-z0-9_+/=-]{20,}"),
    PrefixRule("age-key", (b"AGE-SECRET-KEY-1",), rb"[A-Za-z0-9]{20,}"),
    PrefixRule("vault-token", (b"hvs.", b"hvb.", b"hvr."), _WORD + rb"{16,}"),
    PrefixRule("newrelic-key", (b"NRAK-", b"NRII-", b"NRRA-", b"NRJS-"), _WORD + rb"{16,}"),
    PrefixRule("sentry-token", (b"sntrys_", b"sntryu_"), rb"[A-Za-z0-9_+/=-]{20,}"),
    PrefixRule("mailgun-key", (b"key-", b"pubkey-"), rb"[0-9a-f]{32}(?![A-Za-z0-9])"),
    PrefixRule("square-token", (b"sq0atp-", b"sq0csp-", b"sq0idp-"), _WORD + rb"{20,}"),
    PrefixRule("square-token", (b"EAAA",), _WORD + rb"{50,}", mixed=True),
    PrefixRule("facebook-token", (b"EAAC", b"EAAB", b"EAAG"), _ALNUM + rb"{60,}", mixed=True),
    PrefixRule("shopify-token", (b"shpat_", b"shpca_", b"shppa_", b"shpss_"), _HEX + rb"{24,}"),
    PrefixRule("heroku-key", (b"HRKU-",), _WORD + rb"{20,}"),
    PrefixRule(
        "fly-token", (b"fo1_", b"fm1r_", b"fm1a_", b"fm2_"), rb"[A-Za-z0-9_+/=-]{20,}", mixed=True
    ),
    PrefixRule("linear-key", (b"lin_api_", b"lin_oauth_"), _ALNUM + rb"{20,}"),
    PrefixRule("notion-token", (b"secret_", b"ntn_"), _ALNUM + rb"{36,}", mixed=True),
    PrefixRule("atlassian-token", (b"ATATT3", b"ATCTT3", b"ATSTT3"), rb"[A-Za-z0-9_=-]{30,}"),
    PrefixRule("bitbucket-token", (b"ATBB", b"BBDC-"), rb"[A-Za-z0-9_=+/-]{20,}", mixed=True),
    PrefixRule("supabase-key", (b"sbp_", b"sb_secret_"), _WORD + rb"{20,}", mixed=True),
    PrefixRule("postman-key", (b"PMAK-",), _WORD + rb"{20,}"),
    PrefixRule("databricks-token", (b"dapi",), rb"[0-9a-f]{32}(?:-\d)?(?![A-Za-z0-9])"),
    PrefixRule("groq-key", (b"gsk_",), _ALNUM + rb"{20,}"),
    PrefixRule("xai-key", (b"xai-",), _ALNUM + rb"{20,}", mixed=True),
    PrefixRule("perplexity-key", (b"pplx-",), _ALNUM + rb"{20,}"),
    PrefixRule("replicate-token", (b"r8_",), _ALNUM + rb"{20,}", mixed=True),
    PrefixRule("cerebras-key", (b"csk-",), _ALNUM + rb"{20,}", mixed=True),
    PrefixRule("fireworks-key", (b"fw_",), _ALNUM + rb"{20,}", mixed=True),
    PrefixRule("together-key", (b"tgp_v1_",), _WORD + rb"{20,}"),
    PrefixRule("nvidia-key", (b"nvapi-",), _WORD + rb"{20,}"),
    PrefixRule("tavily-key", (b"tvly-",), _WORD + rb"{16,}", mixed=True),
    PrefixRule("firecrawl-key", (b"fc-",), rb"[0-9a-f]{32}(?![A-Za-z0-9])"),
    PrefixRule("langsmith-key", (b"lsv2_pt_", b"lsv2_sk_", b"ls__"), rb"\w{20,}", mixed=True),
    PrefixRule("pinecone-key", (b"pcsk_",), rb"\w{20,}", mixed=True),
    PrefixRule("jina-key", (b"jina_",), _WORD + rb"{24,}", mixed=True),
    PrefixRule("cursor-key", (b"key_",), rb"[0-9a-f]{40,}"),
    PrefixRule("elevenlabs-key", (b"sk_",), rb"[0-9a-f]{40,}"),
    PrefixRule("vercel-token", (b"vcp_", b"vci_", b"vca_", b"vck_"), _ALNUM + rb"{20,}"),
    PrefixRule("render-key", (b"rnd_",), _ALNUM + rb"{20,}", mixed=True),
    PrefixRule("neon-key", (b"napi_",), _ALNUM + rb"{20,}", mixed=True),
    PrefixRule("resend-key", (b"re_",), rb"[A-Za-z0-9]{8}_[A-Za-z0-9]{16,}", mixed=True),
    PrefixRule(
        "doppler-token",
        (b"dp.pt.", b"dp.st.", b"dp.ct.", b"dp.sa.", b"dp.scim.", b"dp.audit."),
        rb"[A-Za-z0-9_.-]{20,}",
    ),
    PrefixRule("planetscale-token", (b"pscale_",), rb"[a-z]{2,8}_[A-Za-z0-9_.-]{20,}"),
    PrefixRule("cloudflare-key", (b"v1.0-",), rb"[0-9a-f]{20,}-[0-9a-f]{40,}"),
    PrefixRule("cloudflare-key", (b"cfut_", b"cfat_", b"cfk_"), _ALNUM + rb"{30,}"),
    PrefixRule("artifactory-token", (b"AKC", b"cmVmdGtu"), _ALNUM + rb"{30,}", mixed=True),
    PrefixRule("dropbox-token", (b"sl.",), _WORD + rb"{60,}", mixed=True),
    PrefixRule("airtable-token", (b"pat",), rb"[A-Za-z0-9]{14}\.[0-9a-f]{40,}"),
    PrefixRule("figma-token", (b"figd_", b"figo_", b"figu_"), _WORD + rb"{20,}"),
    PrefixRule("rubygems-key", (b"rubygems_",), _HEX + rb"{32,}"),
    PrefixRule("clojars-token", (b"CLOJARS_",), _ALNUM + rb"{30,}"),
    PrefixRule("docker-token", (b"dckr_pat_", b"dckr_oat_"), _WORD + rb"{16,}"),
    PrefixRule("contentful-token", (b"CFPAT-",), _WORD + rb"{30,}"),
    PrefixRule("duffel-token", (b"duffel_live_", b"duffel_test_"), _WORD + rb"{30,}"),
    PrefixRule("dynatrace-token", (b"dt0c01.", b"dt0s01."), rb"[A-Z0-9]{16,}\.[A-Z0-9]{32,}"),
    PrefixRule("easypost-key", (b"EZAK", b"EZTK"), _ALNUM + rb"{40,}", mixed=True),
    PrefixRule("flutterwave-key", (b"FLWSECK-", b"FLWSECK_TEST-"), _WORD + rb"{12,}"),
    PrefixRule("infracost-key", (b"ico-",), _ALNUM + rb"{32,}", mixed=True),
    PrefixRule("launchdarkly-key", (b"sdk-", b"api-"), _HEX + rb"{8}(?:-[0-9a-f]{4}){3}-\w{12}"),
    PrefixRule("netlify-token", (b"nfp_",), _ALNUM + rb"{30,}"),
    PrefixRule("plaid-token", (b"access-production-", b"access-sandbox-"), _WORD + rb"{30,}"),
    PrefixRule("prefect-key", (b"pnu_", b"pnb_"), _ALNUM + rb"{30,}"),
    PrefixRule("pulumi-token", (b"pul-",), _HEX + rb"{32,}"),
    PrefixRule("readme-key", (b"rdme_",), _ALNUM + rb"{30,}"),
    PrefixRule("brevo-key", (b"xkeysib-", b"xsmtpsib-"), _WORD + rb"{40,}"),
    PrefixRule("shippo-token", (b"shippo_live_", b"shippo_test_"), _HEX + rb"{32,}"),
    PrefixRule("sonarqube-token", (b"squ_", b"sqp_", b"sqa_"), _HEX + rb"{32,}"),
    PrefixRule("sourcegraph-token", (b"sgp_",), rb"\w{32,}", mixed=True),
    PrefixRule("tailscale-key", (b"tskey-",), _WORD + rb"{16,}", mixed=True),
    PrefixRule("typeform-token", (b"tfp_",), rb"[A-Za-z0-9_.=-]{30,}", mixed=True),
    PrefixRule("yandex-key", (b"AQVN",), _WORD + rb"{30,}", mixed=True),
    PrefixRule("yandex-token", (b"y0_",), _WORD + rb"{30,}", mixed=True),
    PrefixRule("1password-token", (b"ops_eyJ", b"A3-"), rb"[A-Za-z0-9_=-]{28,}", mixed=True),
    PrefixRule("adafruit-key", (b"aio_",), _ALNUM + rb"{26,}"),
    PrefixRule("alibaba-key-id", (b"LTAI",), _ALNUM + rb"{16,}", mixed=True),
    PrefixRule("tencent-key-id", (b"AKID",), _ALNUM + rb"{28,}", mixed=True),
    PrefixRule("buildkite-token", (b"bkua_", b"bkat_"), _ALNUM + rb"{30,}"),
    PrefixRule("circleci-token", (b"CCIPAT_", b"CCIPRJ_"), rb"\w{24,}"),
    PrefixRule("xendit-key", (b"xnd_production_", b"xnd_development_"), _ALNUM + rb"{20,}"),
    PrefixRule("razorpay-key", (b"rzp_live_", b"rzp_test_"), _ALNUM + rb"{14,}"),
    PrefixRule("braintree-token", (b"access_token$",), rb"[a-z]+\$\w{12,}\$[0-9a-f]{30,}"),
    PrefixRule("microsoft-devops-token", (b"JQQJ99",), _ALNUM + rb"{40,}"),
    PrefixRule("azure-client-secret", (b"7Q~", b"8Q~"), rb"[A-Za-z0-9_.~-]{30,}"),
    PrefixRule("wakatime-key", (b"waka_",), rb"[0-9a-f]{8}-[0-9a-f-]{27,}"),
    PrefixRule("zuplo-key", (b"zpka_",), rb"\w{30,}"),
    PrefixRule("hubspot-token", (b"pat-na1-", b"pat-eu1-", b"pat-na2-"), rb"[0-9a-f-]{30,}"),
    PrefixRule("ubidots-token", (b"BBFF-",), _ALNUM + rb"{30,}"),
    PrefixRule("voyage-key", (b"pa-",), _WORD + rb"{40,}", mixed=True),
)


_DISCORD_LENGTH: Final = 58

_NUMBERS: Final[dict[bytes, int]] = {
    prefix: number for number, rule in enumerate(RULES) for prefix in rule.prefixes
}

_RUN_CLASS: Final = bytes(
    ord("a")
    if chr(code).isascii() and (chr(code).isalnum() or chr(code) in "_.-$~+/")
    else ord(" ")
    for code in range(256)
)
_RUN: Final = b"a" * SHORTEST_RUN


def long_runs(raw: bytes) -> list[bytes]:
    """Give the unbroken stretches of token characters that could hold a token, in order."""
    classes = raw.translate(_RUN_CLASS)
    runs: list[bytes] = []
    start = classes.find(_RUN)
    while start >= 0:
        end = classes.find(b" ", start)
        if end < 0:
            end = len(raw)
        runs.append(raw[start:end])
        start = classes.find(_RUN, end)
    return runs


def find_tokens(raw: bytes, runs: list[bytes]) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, type) of each provider token; spans may overlap.

    ``runs`` are those of ``long_runs(raw)``.
    """
    for match, kind in _prefixed(raw, runs):
        yield match.start(), match.end(), kind
    if has_whole_run(runs):
        for match in _discord().finditer(raw):
            yield match.start(), match.end(), "discord-token"


def token_candidates(raw: bytes, runs: list[bytes]) -> Iterator[tuple[int, int]]:
    """Yield where ``find_tokens`` has something to yield, but for ``has_whole_run``."""
    for match, _ in _prefixed(raw, runs):
        yield match.span()


def has_whole_run(runs: list[bytes]) -> bool:
    """Tell whether a stretch is such a token that its beginning may be that of the text."""
    return any(len(run) >= _DISCORD_LENGTH and _discord().search(run) for run in runs)


def _prefixed(raw: bytes, runs: list[bytes]) -> Iterator[tuple[re.Match[bytes], str]]:
    if not runs:
        return
    joined = b" ".join([b"", *runs])
    prefixes = set(_any_prefix().findall(joined))
    if b"Q~" in joined:
        prefixes.update((b"7Q~", b"8Q~"))
    for prefix in sorted(prefixes):
        rule = RULES[_NUMBERS[prefix]]
        for match in _compiled(prefix).finditer(raw):
            if not rule.mixed or _has_digits(match[0]):
                yield match, rule.kind


@cache
def _any_prefix() -> re.Pattern[bytes]:
    """Compile one pattern that finds, in the joined runs, each prefix that stands at a boundary.

    Of prefixes that begin alike the longest is reported.  A run may begin with the letter of an
    escaped line break (``nghp_...``).
    """
    by_first: dict[bytes, list[bytes]] = {}
    for prefix in sorted(_NUMBERS, key=len, reverse=True):
        by_first.setdefault(prefix[:1], []).append(re.escape(prefix[1:]))
    branches = [
        re.escape(first) + b"(?:" + b"|".join(rest) + b")" for first, rest in by_first.items()
    ]
    return re.compile(rb"(?:(?<![A-Za-z0-9])|(?<= [nrtbf]))(?=(" + b"|".join(branches) + rb"))")


@cache
def _compiled(prefix: bytes) -> re.Pattern[bytes]:
    r"""Compile one prefix with its boundary.

    The literal stands first, where the regex engine can search for it; the boundary is looked
    at afterwards.  ``\n`` of JSON-escaped text counts as a boundary although ``n`` is a letter.
    """
    literal = re.escape(prefix)
    body = RULES[_NUMBERS[prefix]].body
    if prefix.endswith(b"Q~"):  # three characters of the secret come before it
        return re.compile(rb"[\w.~-]{3}" + literal + body)
    inner = rb"[A-Za-z0-9_-]" if prefix == b"eyJ" else rb"[A-Za-z0-9]"
    boundary = rb"(?:(?<!" + inner + literal + rb")|(?<=\\[nrtbf]" + literal + rb"))"
    return re.compile(literal + boundary + body)


@cache
def _discord() -> re.Pattern[bytes]:
    return re.compile(
        rb"[MNO](?:(?<![\w.-][MNO])|(?<=\\[nrt][MNO])|(?<=\A[nrt][MNO]))[A-Za-z0-9_-]{22,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"
    )


def _has_digits(token: bytes) -> bool:
    return len(token) - len(token.translate(None, b"0123456789")) >= 2
