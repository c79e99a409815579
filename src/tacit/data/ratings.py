"""MovieLens 100K: people who come back, and are offered films that they have rated."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tacit._types import Floats
from tacit._validate import whole
from tacit.data.installed import fingerprint, located, refuse_other_columns
from tacit.data.reading import Raw
from tacit.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd

NAME = "movielens"
PACKAGE, _PLACE = "recbole", "dataset_example/ml-100k/ml-100k"
_FILES = ("inter", "item", "user")
_COLUMNS = {
    "inter": ("user_id", "item_id", "rating", "timestamp"),
    "item": ("item_id", "release_year", "class"),
    "user": ("user_id", "age", "gender", "occupation"),
}
#: Stars from which on a film was liked.
LIKED = 4

GENRES = (
    "Action",
    "Adventure",
    "Animation",
    "Children's",
    "Comedy",
    "Crime",
    "Documentary",
    "Drama",
    "Fantasy",
    "Film-Noir",
    "Horror",
    "Musical",
    "Mystery",
    "Romance",
    "Sci-Fi",
    "Thriller",
    "War",
    "Western",
)
#: Bounds are also where 0 is, and noise costs least where most are near it. The mean year of the 1,682 films, which are
#: public, is 1989, and their standard deviation 14; films from before 1975 count as of that year. A genre that a film
#: does not have is a 0 and stays one.
_YEARS, _FLAG, _AGES = (1975.0, 2003.0), (-1.0, 1.0), (0.0, 80.0)


def movielens(slate: int = 5, visits: int = 10) -> Raw:
    """Visits of 943 people to a film service, one row per film on offer: a table for `Table(model="actions")`.

    A visit is `slate` films that one person rated one after another, and at most `visits` of them are taken of a
    person: the first ones. The films on offer in a visit are the round's actions, and their ratings are all known, so
    that no reward has to be guessed. In one pass over the table a person comes at most `visits` times: that is the
    `person_rounds` with which a policy protects persons. Rows are in the order of time.

    Columns:

    - `round`, `person`, `film`: the visit, who came, and what was on offer.
    - `target`: 1 if the person gave the film four or five stars, else −1.
    - `year` and 18 genres (`action`, …, `film_noir`, …, 0 or 1): facts of the film.
    - `age`, `male`, `occupation`: of the person; the same for all films of a visit.
    - `year_by_age`, `year_by_male`, `comedy_by_age`, …: products of the two, from −1 to 1. Without them every
      person gets the same advice from a policy in which all actions share one parameter.

    What is public: the films, all 1,682 of them, with year and genres, as any catalogue prints them; and the bounds
    here. What is private: who came, what they were offered (it says what they watched), their age and sex, and what
    they liked. No film was chosen by its number of ratings, which would be a number computed from people.

    What it is not: people chose what they rated, so a policy is judged on films that a person would watch anyway, and
    on the first `visits * slate` of them. Ratings are from one sitting in most cases. Two films
    whose year cannot be read count as of 1989, the middle.

    Parameters:
        slate: How many films are on offer in a visit, from 2.
        visits: How many visits are taken of a person, at most.

    Read from the installed package recbole (MIT). The ratings are of GroupLens (Harper and Konstan 2015): free for
    research, to be acknowledged, not to be redistributed, and not for commercial use without permission. Nothing of
    it ships with tacit.

    Example:
        ```python
        from tacit.environments import Table

        world = Table(data="movielens", model="actions", group="round", columns="year,drama,comedy", projection=None)
        ```
    """
    slate, visits = whole("slate", slate, low=2), whole("visits", visits)
    first = located(NAME, PACKAGE, f"{_PLACE}.{_FILES[0]}")
    return _read(first, slate, visits)


@lru_cache(maxsize=4)
def _read(first: Path, slate: int, visits: int) -> Raw:
    files = [first.with_suffix(f".{kind}") for kind in _FILES]
    ratings, films, people = (_table(file) for file in files)
    rounds = _rounds(ratings, slate, visits)
    film = _film_features(films).loc[rounds["film"]].reset_index(drop=True)
    person = _person_features(people).loc[rounds["person"]].reset_index(drop=True)
    # As `prepare` will have them.
    scaled = {name: _scaled(person[name], bounds) for name, bounds in _PERSON.items()}
    products = {
        f"{name}_by_{of}": _scaled(film[name], bounds) * values
        for name, bounds in _FILM.items()
        for of, values in scaled.items()
    }
    import pandas as pd

    frame = pd.concat([rounds, film, person, pd.DataFrame(products)], axis=1)
    bounds = {**_FILM, **_PERSON, **dict.fromkeys(products, (-1.0, 1.0))}
    return Raw(NAME, frame, fingerprint(files, slate, visits), bounds, own=False)


def _table(file: Path) -> pd.DataFrame:
    """One of the three files. Its header says `name:type`."""
    import pandas as pd

    # "none" is an occupation, and no hole.
    frame = pd.read_csv(file, sep="\t", keep_default_na=False)
    frame = frame.rename(columns=lambda name: name.partition(":")[0])
    refuse_other_columns(frame, file, _COLUMNS[file.suffix[1:]])
    return frame


def _rounds(ratings: pd.DataFrame, slate: int, visits: int) -> pd.DataFrame:
    """The ratings that are on offer, by visit, in the order in which visits ended."""
    # Of one second there are many: the film tells them apart, so that the order does not hang on that of the file.
    ordered = ratings.sort_values(["user_id", "timestamp", "item_id"], kind="stable")
    place = ordered.groupby("user_id").cumcount()
    count = ordered.groupby("user_id")["item_id"].transform("size")
    kept = ordered[(place < slate * visits) & (place < count // slate * slate)]
    if kept.empty:
        raise BadInput(f"Expected a slate no longer than what people have rated, got slate={slate}.")
    ends = kept["timestamp"].to_numpy().reshape(-1, slate)[:, -1]
    kept = kept.iloc[(np.argsort(ends, kind="stable")[:, None] * slate + np.arange(slate)).ravel()]
    kept = kept.reset_index(drop=True)
    kept["target"] = np.where(kept["rating"] >= LIKED, 1.0, -1.0)
    kept["round"] = np.arange(len(kept)) // slate
    named = kept.rename(columns={"user_id": "person", "item_id": "film"})
    return named[["round", "person", "film", "target"]]


_GENRE_COLUMNS = {genre: genre.lower().replace("'", "").replace("-", "_") for genre in GENRES}
_FILM = {"year": _YEARS, **dict.fromkeys(_GENRE_COLUMNS.values(), _FLAG)}
_PERSON = {"age": _AGES, "male": (0.0, 1.0)}


def _film_features(films: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    year = pd.to_numeric(films["release_year"], errors="coerce").fillna(sum(_YEARS) / 2)
    own = [set(words.split()) for words in films["class"].astype(str)]
    found = {name: [float(genre in words) for words in own] for genre, name in _GENRE_COLUMNS.items()}
    return pd.DataFrame({"year": year.to_numpy(np.float64), **found}, index=films["item_id"])


def _person_features(people: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        {
            "age": people["age"].to_numpy(np.float64),
            "male": (people["gender"] == "M").to_numpy(np.float64),
            "occupation": people["occupation"].to_numpy(),
        },
        index=people["user_id"],
    )


def _scaled(column: pd.Series, bounds: tuple[float, float]) -> Floats:
    low, high = bounds
    values: Floats = column.to_numpy(np.float64)
    return (np.clip(values, low, high) - low) / (high - low) * 2 - 1
