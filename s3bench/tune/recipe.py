"""What to paste so that a setting holds: `aws configure set`, boto3's TransferConfig, a program's flags.

Each client declares its own lines. Pure.
"""

import msgspec

from s3bench.tune.setting import Setting


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`lines` to be pasted as they stand into what `where` names (`shell`, `Python`), so that `setting` holds."""

    setting: Setting
    where: str
    lines: tuple[str, ...]


def recipes_of(setting: Setting, version: str = "") -> tuple[Recipe, ...]:
    """What makes `setting` hold. Parameters that keep their defaults are not written.

    `version` is that of the client, whose label may be a path; without it the label tells it.
    """
    recipe = setting.descriptor.tuning.recipe(version or setting.client.partition("@")[2], dict(setting.values))
    return (Recipe(setting=setting, where=recipe.where, lines=recipe.lines),)
