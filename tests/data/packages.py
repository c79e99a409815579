"""Packages with made-up tables in the format of the real ones; to import one would fail."""

from __future__ import annotations

import importlib

import numpy as np
import pandas as pd

from tacit.data.ratings import GENRES

PEOPLE, FILMS = 12, 30


def installed(monkeypatch, folder):
    """Both packages, found before any real one."""
    for name in ("lifelines", "recbole"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("raise RuntimeError('imported')\n", "utf-8")
    trial().to_csv(_file(folder, "lifelines/datasets/ACTG175.csv"))
    for kind, frame in ratings().items():
        frame.to_csv(_file(folder, f"recbole/dataset_example/ml-100k/ml-100k.{kind}"), sep="\t", index=False)
    monkeypatch.syspath_prepend(str(folder))
    importlib.invalidate_caches()
    return folder


def _file(folder, name):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    return folder / name


def trial(rows: int = 60) -> pd.DataFrame:
    """People whose count changes by 20 per number of the arm, with one far above every bound."""
    rng = np.random.default_rng(5)
    flags = ["hemo", "homo", "drugs", "z30", "race", "gender", "symptom"]
    frame = pd.DataFrame({name: rng.integers(0, 2, rows) for name in flags})
    frame["pidnum"] = 10_000 + 7 * np.arange(rows)
    frame["age"] = rng.integers(15, 70, rows)
    frame["wtkg"] = rng.uniform(40, 120, rows)
    frame["karnof"] = rng.choice([70, 80, 90, 100], rows)
    frame["preanti"] = rng.integers(0, 2000, rows)
    frame["arms"] = np.arange(rows) % 4
    frame["cd40"] = rng.integers(200, 500, rows)
    frame["cd420"] = frame["cd40"] + 20 * frame["arms"]
    frame.loc[0, "cd420"] = 1_200
    frame["cd80"] = rng.integers(300, 2000, rows)
    return frame


def ratings() -> dict[str, pd.DataFrame]:
    """Person p has rated 2·p + 4 films, in the order of their numbers, the even ones with five stars."""
    rated = [(person, film) for person in range(1, PEOPLE + 1) for film in range(1, 2 * person + 5)]
    people, films = np.array(rated).T
    years = ["1990"] * FILMS
    years[1] = "V"  # as one is in the real file
    return {
        "inter": pd.DataFrame(
            {
                "user_id:token": people,
                "item_id:token": films,
                "rating:float": np.where(films % 2 == 0, 5, 3),
                "timestamp:float": 1_000 * films + people,
            }
        ).sample(frac=1, random_state=1),
        "item": pd.DataFrame(
            {
                "item_id:token": np.arange(1, FILMS + 1),
                "movie_title:token_seq": "A film",
                "release_year:token": years,
                "class:token_seq": [f"{GENRES[film % 18]} Drama" for film in range(1, FILMS + 1)],
            }
        ),
        "user": pd.DataFrame(
            {
                "user_id:token": np.arange(1, PEOPLE + 1),
                "age:token": 20 + np.arange(PEOPLE),
                "gender:token": ["M", "F"] * (PEOPLE // 2),
                "occupation:token": ["none", "writer"] * (PEOPLE // 2),
                "zip_code:token": "00000",
            }
        ),
    }
