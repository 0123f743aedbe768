"""The table of formats: complete, and harmless whatever a document holds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s3bench.errors import BadInput
from s3bench.report.formats import Format
from s3bench.report.rendering import RENDERINGS
from tests.compare.documents import client, document, result
from tests.report import loads
from tests.report.runs import hostile, two_clients, with_failures

TEXTS = st.text(max_size=40)


def test_every_format_can_be_rendered() -> None:
    assert set(RENDERINGS) == set(Format)
    for rendering in RENDERINGS.values():
        assert rendering.render(two_clients()).endswith("\n")
        assert rendering.extension.isalnum()
        assert len(rendering.description) <= 70


@pytest.mark.parametrize("form", RENDERINGS)
def test_every_document_is_rendered_or_refused_in_words(form: Format) -> None:
    for whole in (document(), with_failures(), hostile(), loads.everything(), loads.document()):
        try:
            text = RENDERINGS[form].render(whole)
        except BadInput as refusal:
            assert refusal.what  # noqa: PT017 (some are rendered)
        else:
            assert text.replace("\r\n", "").replace("\n", "").isprintable()
            assert len(text) < 1_000_000


@pytest.mark.parametrize("form", RENDERINGS)
@settings(max_examples=10)
@given(name=TEXTS, key=TEXTS, value=TEXTS, label=TEXTS)
def test_no_text_brings_a_control_character_into_any_format(
    form: Format, name: str, key: str, value: str, label: str
) -> None:
    whole = document(result((0.5, 0.6), name=name, dimensions={key: value}, of=client(label, label), engine=value))
    text = RENDERINGS[form].render(whole)
    assert text.replace("\r\n", "").replace("\n", "").isprintable()
