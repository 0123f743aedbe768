"""Made-up profiles for the tests of the page: a few stacks in words, or thousands as a large client has them."""

import random
from collections.abc import Mapping, Sequence
from functools import cache

from s3bench.profiling.stack_profile import MAIN_THREAD, Frame, ProfiledRun, Sampled, Stack, StackProfile

INTERVAL_S = 0.005

_PACKAGES = ("awscli", "botocore", "urllib3", "json", "s3transfer", "dateutil", "cryptography", "email", "re")
_NOUNS = ("session", "client", "loader", "parser", "endpoint", "credentials", "waiter", "model", "signer", "handler")
_VERBS = ("load", "resolve", "create", "register", "emit", "parse", "build", "validate", "compile", "read")


def profile(
    stacks: Mapping[str, int | Sequence[int]],
    *,
    runs: int = 4,
    sampled: Sampled = Sampled.WALL_TIME,
) -> StackProfile:
    """A profile of stacks such as `main:run;app.core:load@12`, with samples of each run, or the same for every run.

    `@12` is the line. A stack that begins with `[NAME]` is of that thread.
    """
    frames: dict[Frame, int] = {}
    made: list[Stack] = []
    for text in stacks:
        thread, _, calls = text[1:].partition("]") if text.startswith("[") else (MAIN_THREAD, "", text)
        places = tuple(frames.setdefault(_frame(call), len(frames)) for call in calls.split(";"))
        made.append(Stack(frames=places, thread=thread))
    samples = [[each] * runs if isinstance(each, int) else list(each) for each in stacks.values()]
    return StackProfile(
        sampled=sampled,
        interval_s=INTERVAL_S,
        frames=tuple(frames),
        stacks=tuple(made),
        runs=tuple(
            ProfiledRun(
                total_time=1.0,
                cpu_time=0.9,
                samples={stack: counts[run] for stack, counts in enumerate(samples) if counts[run]},
            )
            for run in range(max(map(len, samples), default=runs))
        ),
    )


def _frame(call: str) -> Frame:
    name, _, line = call.partition("@")
    module, _, function = name.partition(":")
    return Frame(module=module, function=function, file=f"{module.replace('.', '/')}.py", line=int(line or 1))


_MAIN = ";awscli.clidriver:main;awscli.clidriver:CLIDriver.main"
_LS = "awscli.s3.subcommands:ListCommand._run_main"
_JSON = "json:loads;json.decoder:JSONDecoder.decode"
_RULES = "botocore.regions:EndpointRulesetResolver.__init__;botocore.endpoint_provider:RuleSet.__init__"
_CALL = "botocore.client:ClientCreator._api_call;botocore.client:BaseClient._make_api_call"
_SEND = "botocore.httpsession:URLLib3Session.send;urllib3.connectionpool:HTTPConnectionPool.urlopen"
_AWS_CLI: Mapping[str, float] = {
    "": 4,
    ";awscli.clidriver:<module>": 9,
    ";awscli.clidriver:<module>;botocore.session:<module>": 14,
    ";awscli.clidriver:<module>;botocore.session:<module>;botocore.client:<module>": 17,
    ";awscli.clidriver:<module>;botocore.session:<module>;botocore.client:<module>;botocore.args:<module>": 12,
    ";awscli.clidriver:<module>;botocore.session:<module>;botocore.credentials:<module>": 13,
    ";awscli.clidriver:<module>;botocore.session:<module>;urllib3:<module>;urllib3.connection:<module>": 11,
    ";awscli.clidriver:<module>;botocore.session:<module>;urllib3:<module>;ssl:<module>": 8,
    ";awscli.clidriver:<module>;awscli.help:<module>;botocore.docs:<module>;botocore.docs.service:<module>": -21,
    ";awscli.clidriver:<module>;awscli.help:<module>;botocore.docs:<module>;docutils.core:<module>": -12,
    ";awscli.clidriver:<module>;awscli.help:<module>": 5,
    ";awscli.clidriver:main;awscli.clidriver:create_clidriver;botocore.session:Session.get_component": 6,
    ";awscli.clidriver:main;awscli.clidriver:create_clidriver;awscli.plugin:load_plugins": 10,
    _MAIN: 3,
    f"{_MAIN};{_LS};botocore.session:Session.create_client;botocore.loaders:Loader.load_service_model": 19,
    f"{_MAIN};{_LS};botocore.session:Session.create_client;botocore.loaders:Loader.load_service_model;{_JSON}": 34,
    f"{_MAIN};{_LS};botocore.session:Session.create_client;botocore.client:ClientCreator.create_client": 16,
    f"{_MAIN};{_LS};botocore.session:Session.create_client;{_RULES}": 15,
    f"{_MAIN};{_LS};{_CALL};botocore.endpoint:Endpoint.make_request;{_SEND};http.client:HTTPResponse.begin": 20,
    f"{_MAIN};{_LS};{_CALL};botocore.endpoint:Endpoint.make_request;{_SEND}": 5,
    f"{_MAIN};{_LS};{_CALL};botocore.signers:RequestSigner.sign;botocore.auth:S3SigV4Auth.add_auth": 9,
    f"{_MAIN};{_LS};{_CALL};botocore.parsers:ResponseParser.parse": 8,
}  # fmt: skip
"""Stacks of `aws s3 ls` with samples per run, those of a version with one more import below 0."""


def aws_cli_profile(*, seed: int, docs: float) -> StackProfile:
    """Twelve runs that resemble `aws s3 ls`; `docs` is how much of the import of `botocore.docs` they have."""
    source = random.Random(seed)
    return profile({
        f"__main__:<module>{calls}": [
            max(0, round((mean if mean > 0 else -mean * docs) / 5 * source.gauss(1, 0.05) * 2)) for _ in range(12)
        ]
        for calls, mean in _AWS_CLI.items()
    })  # fmt: skip


def large_profile(stacks: int = 5_000, *, seed: int = 1, runs: int = 20, slower: float = 1.0) -> StackProfile:
    """So many distinct stacks of up to 60 frames, a fifth of them imports, as those of aws-cli are.

    The stacks depend on their number alone, the samples of them on `seed`. Stacks with `botocore.loader` have `slower`
    times the samples.
    """
    source, (frames, weights) = random.Random(seed), _large_stacks(stacks)
    loader = {number for number, frame in enumerate(frames) if frame.module == "botocore.loader"}
    samples = [weight * (slower if loader.intersection(stack) else 1.0) for stack, weight in weights.items()]
    return StackProfile(
        sampled=Sampled.WALL_TIME,
        interval_s=INTERVAL_S,
        frames=frames,
        stacks=tuple(Stack(frames=stack) for stack in weights),
        runs=tuple(
            ProfiledRun(
                total_time=0.5,
                cpu_time=0.45,
                samples={
                    stack: count for stack, mean in enumerate(samples) if (count := int(mean * source.random() * 0.6))
                },
            )
            for _ in range(runs)
        ),
    )


@cache
def _large_stacks(stacks: int) -> tuple[tuple[Frame, ...], Mapping[tuple[int, ...], float]]:
    """The frames, and how often each stack of them is met."""
    shape = random.Random(0)
    frames = tuple(_large_frame(shape, number) for number in range(2_500))
    calls = [[shape.randrange(len(frames)) for _ in range(6)] for _ in frames]
    weights: dict[tuple[int, ...], float] = {}
    while len(weights) < stacks:
        stack = [0]
        while len(stack) < 60 and shape.random() < 0.95:
            stack.append(calls[stack[-1]][min(5, int(shape.expovariate(0.9)))])
        weights.setdefault(tuple(stack), shape.paretovariate(1.2))
    return frames, weights


def _large_frame(source: random.Random, number: int) -> Frame:
    module = f"{source.choice(_PACKAGES)}.{source.choice(_NOUNS)}"
    function = "<module>" if number % 5 == 0 else f"{source.choice(_NOUNS).title()}.{source.choice(_VERBS)}_{number}"
    return Frame(module=module, function=function, file=f"{module.replace('.', '/')}.py", line=source.randint(1, 2_000))
