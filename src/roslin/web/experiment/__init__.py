"""The pages of a ranking study, for `roslin experiment serve`.

    settings       what an operator decides: folder of the study, database, address
    app            the application put together; `server` starts it with uvicorn
    routes/        pages and forms for experts, trials as JSON, the experimenter's pages
    study          the study that is served: folder, database, signatures, figures
    links          signatures of personal links, sessions and forms
    visitor        who asks: the session, and what writing needs besides
    invitations    new experts with their links, as a table
    trials         a trial in numbers: documents have no names outside the server
    figures        what is judged, drawn once for everybody; `differences` says which notes of two to mark
    questionnaire  answers of a form, checked against their questions
    experimenter   who may see the dashboard; `findings` is what it shows of the judgements
    schemas        the shapes of requests in JSON
    errors         what went wrong, as a page or in the one shape of errors
    rendering      pages from templates
    rehearsal      a server of its own for simulated experts

Experts read in their language, the experimenter in English. All of it is an extra: `pip install "roslin[experiment]"`.
"""
