// A file becomes queries to choose from. It is read by the server and not kept there.

import { asList } from "./entry.js";
import { _, language, ngettext, root } from "./words.js";

const byId = id => document.getElementById(id);

export function startUpload(entry) {
  const file = byId("file"), message = byId("file-message"), choose = byId("choose"), choice = byId("choice");
  let choices = [];

  function say(text, isBad = false) {
    message.className = isBad ? "message bad" : "message";
    message.textContent = text;
  }

  function take(number) {
    const taken = choices[number];
    entry.set(taken.q, taken.notation);
    say(taken.is_cut ? _("Only the first {notes} notes are used.", taken) : "");
    if (taken.deviations.length) message.append(asList(taken.deviations));
  }

  async function send(chosen) {
    const body = new FormData();
    body.append("file", chosen);
    say(_("Reading {name} …", chosen));
    choose.hidden = true;
    try {
      const response = await fetch(`${root}api/read?lang=${language}`, { method: "POST", body });
      const answer = await response.json();
      if (!response.ok) {
        say(answer.error.message, true);
        return;
      }
      choices = answer.choices;
      choice.replaceChildren(...choices.map((one, number) => new Option(`${one.label} (${ngettext("{count} note", "{count} notes", one.notes)})`, number)));
      choose.hidden = choices.length < 2;
      take(0);
    } catch {
      say(_("The file could not be sent. It may be too large."), true);
    }
  }

  file.addEventListener("change", () => {
    if (file.files.length) send(file.files[0]);
    file.value = "";
  });
  choice.addEventListener("change", () => take(Number(choice.value)));
}
