"""Where causes are planted: functions and modules that run during the upload of a small file, by client.

Which functions run, on which thread and how often, was counted with `sys.setprofile`; another release of a client may
need other places, and a place that is not there is an error.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A function (empty: a module's own code), in a file below the import root."""

    file: str
    function: str = ""

    @property
    def module(self) -> str:
        """The module as an import statement names it."""
        return self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def name(self) -> str:
        """Module and function, as profiles name them."""
        return f"{self.module}:{self.function or '<module>'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The places of one client.

    `once` are called once, by the main thread. `late` run when the client holds most of its memory, on any thread.
    `often` have their number of calls. `models` have an expression for a model at hand, `models_file` the path of such
    models. `requests` have a call that sends one more request, and its method. `modules` are imported once.
    """

    once: tuple[Place, ...]
    late: tuple[Place, ...]
    often: tuple[tuple[Place, int], ...]
    models: tuple[tuple[Place, str], ...]
    requests: tuple[tuple[Place, str, str], ...]
    modules: tuple[Place, ...]


def _places(table: str) -> tuple[Place, ...]:
    """Lines of a file and its functions."""
    rows = [line.split() for line in table.strip().splitlines()]
    return tuple(Place(file=file, function=function) for file, *functions in rows for function in functions)


def _modules(names: str) -> tuple[Place, ...]:
    return tuple(Place(file=file) for file in names.split())


_LATE = _places(
    """
    s3transfer/manager.py TransferManager.upload TransferManager._submit_transfer
    s3transfer/upload.py UploadSubmissionTask._submit UploadSubmissionTask._submit_upload_request PutObjectTask._main
    """
)

_MODELS = (
    (Place(file="botocore/model.py", function="ServiceModel.__init__"), "service_description"),
    (Place(file="botocore/endpoint_provider.py", function="RuleSet.__init__"), "rules"),
    (Place(file="botocore/regions.py", function="EndpointRulesetResolver.__init__"), "endpoint_ruleset_data"),
    (
        Place(file="botocore/client.py", function="ClientCreator._create_client_class"),
        "service_model._service_description",
    ),
    (
        Place(file="botocore/args.py", function="ClientArgsCreator.get_client_args"),
        "service_model._service_description",
    ),
)

_REQUESTS = (
    (
        Place(file="s3transfer/upload.py", function="PutObjectTask._main"),
        "client.head_object(Bucket=bucket, Key=key)",
        "HEAD",
    ),
    (
        Place(file="s3transfer/upload.py", function="UploadSubmissionTask._submit"),
        "client.head_bucket(Bucket=transfer_future.meta.call_args.bucket)",
        "HEAD",
    ),
    (
        Place(file="s3transfer/upload.py", function="UploadSubmissionTask._submit_upload_request"),
        "client.list_objects_v2(Bucket=transfer_future.meta.call_args.bucket, MaxKeys=1)",
        "GET",
    ),
    (
        Place(file="s3transfer/manager.py", function="TransferManager.upload"),
        "self._client.list_objects_v2(Bucket=bucket, Prefix=key, MaxKeys=1)",
        "GET",
    ),
)

BOTO3 = Places(
    once=_places(
        """
        boto3/session.py Session.client Session._setup_loader Session._register_default_handlers
        boto3/s3/transfer.py create_transfer_manager
        botocore/args.py ClientArgsCreator.compute_client_args ClientArgsCreator._compute_retry_config
        botocore/client.py ClientCreator.create_client ClientCreator._create_client_class
        botocore/client.py ClientCreator._register_s3_events
        botocore/credentials.py create_credential_resolver
        botocore/endpoint.py EndpointCreator.create_endpoint
        botocore/regions.py EndpointRulesetResolver.__init__
        botocore/session.py Session.create_client Session._register_components Session._create_credential_resolver
        botocore/useragent.py UserAgentString.from_environment
        s3transfer/manager.py TransferManager.__init__ TransferManager.upload TransferManager._register_handlers
        """
    ),
    late=_LATE,
    often=(
        (Place(file="botocore/loaders.py", function="JSONFileLoader.exists"), 925),
        (Place(file="botocore/hooks.py", function="_PrefixTrie._recursive_copy"), 395),
        (Place(file="botocore/endpoint_provider.py", function="RuleCreator.create"), 389),
        (Place(file="botocore/endpoint_provider.py", function="BaseRule.__init__"), 389),
    ),
    models=_MODELS,
    requests=_REQUESTS,
    modules=_modules(
        "boto3/session.py boto3/s3/transfer.py botocore/args.py botocore/auth.py botocore/client.py "
        "botocore/credentials.py botocore/docs/method.py botocore/endpoint.py botocore/handlers.py "
        "botocore/httpsession.py botocore/parsers.py botocore/regions.py s3transfer/download.py s3transfer/manager.py"
    ),
)

CLI_V1 = Places(
    once=_places(
        """
        awscli/alias.py AliasLoader._build_aliases
        awscli/clidriver.py create_clidriver CLIDriver.main CLIDriver._build_command_table CLIDriver._create_parser
        awscli/clidriver.py CLIDriver._build_builtin_commands CLIDriver._handle_top_level_args
        awscli/customizations/s3/s3handler.py S3TransferHandlerFactory.__call__ S3TransferHandler.call
        awscli/customizations/s3/subcommands.py S3TransferCommand._run_main CommandParameters.add_paths
        awscli/customizations/s3/subcommands.py CommandArchitecture.set_clients CommandArchitecture.create_instructions
        awscli/customizations/s3/subcommands.py CommandArchitecture.run
        awscli/customizations/s3/transferconfig.py RuntimeConfig.build_config
        awscli/handlers.py awscli_initialize
        awscli/plugin.py load_plugins
        botocore/session.py Session._create_credential_resolver
        s3transfer/manager.py TransferManager.__init__ TransferManager.upload
        """
    ),
    late=_LATE,
    often=(
        (Place(file="botocore/loaders.py", function="JSONFileLoader.exists"), 1277),
        (Place(file="botocore/endpoint_provider.py", function="RuleCreator.create"), 1167),
        (Place(file="botocore/hooks.py", function="NodeList.__copy__"), 975),
        (Place(file="botocore/endpoint_provider.py", function="BaseRule.__init__"), 1167),
    ),
    models=_MODELS,
    requests=_REQUESTS,
    modules=_modules(
        "awscli/alias.py awscli/clidriver.py awscli/customizations/cloudformation/deployer.py "
        "awscli/customizations/s3/results.py awscli/customizations/s3/s3handler.py awscli/formatter.py awscli/help.py "
        "awscli/shorthand.py awscli/table.py botocore/auth.py botocore/client.py botocore/handlers.py "
        "botocore/httpsession.py s3transfer/manager.py"
    ),
)

_RULES = "s3_extension/rules.py"

CLI_V2 = Places(
    once=_places(
        """
        s3_extension/__init__.py awscli_initialize on_commands
        s3_extension/notes.py open_notes
        s3_extension/rules.py read_rules check_rules
        s3_extension/tables.py table_names read_model
        """
    ),
    late=_places("s3_extension/notes.py note_request\ns3_extension/__init__.py on_call"),
    often=((Place(file=_RULES, function="normalised"), 1_000),),
    models=(
        (Place(file=_RULES, function="read_rules"), "model"),
        (Place(file="s3_extension/tables.py", function="read_model"), "session.get_service_data('s3')"),
    ),
    requests=(
        (Place(file="s3_extension/notes.py", function="open_notes"), "_ask('GET')", "GET"),
        (Place(file="s3_extension/rules.py", function="check_rules"), "_ask('GET')", "GET"),
    ),
    modules=_modules("s3_extension/__init__.py s3_extension/notes.py s3_extension/rules.py s3_extension/tables.py"),
)
