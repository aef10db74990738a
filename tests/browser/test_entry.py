"""Entry that forgives: what is typed, played or sung can be mended in the notation, by mouse, touch and keyboard."""

from __future__ import annotations

from playwright.sync_api import Page, expect


def test_another_way_in_writes_notes_and_hears_of_changes(page: Page) -> None:
    """What a microphone uses: notes in quarters become text, and the change is told once the server has read it."""
    page.goto("/")
    page.evaluate(
        """async () => {
          const { written } = await import("/static/editor.js");
          window.text = written([
            { pitch: 67, duration: 1.1 }, { pitch: 69, duration: 0.45 },
            { pitch: null, duration: 0.5 }, { pitch: 66, duration: 3 },
          ]);
        }"""
    )
    assert page.evaluate("text") == "'4G8A-2.xF"
    page.locator("#q").fill(page.evaluate("text"))
    expect(page.locator("#preview svg.notation .note")).to_have_count(3)
