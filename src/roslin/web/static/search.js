// The search page: entry of a query, and results that come without loading the page again.
import { startEditor } from "./editor.js";
import { startEntry } from "./entry.js";
import { startPiano } from "./piano.js";
import { startResults } from "./results.js";
import { startSinging } from "./singing.js";
import { startUpload } from "./upload.js";

const entry = startEntry();
const editor = startEditor(entry);
startSinging(editor);
startPiano(entry, editor);
startUpload(entry);
startResults(entry);
