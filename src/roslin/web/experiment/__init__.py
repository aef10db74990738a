"""The pages of a ranking study, for `roslin experiment serve`. They need the extra: `pip install "roslin[experiment]"`.

    app           the application: routes, errors, and its server
    study         the study of the server: settings, folder, database, sessions, figures
    pages         what every page needs: session, form token, language, templates
    participants  the way of a participant, from the link to the thanks
    trials        trials as JSON: documents have no names outside the server
    dashboard     the pages of the experimenter, with their plots
    rehearsal     a server for simulated participants

Participants read in their language, the experimenter in English.
"""
