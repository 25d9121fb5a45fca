"""The stories in English."""

from __future__ import annotations

from sfumato.apps.cli.stories import Story

STORIES: dict[str, Story] = {
    "SF001": Story(
        "rows belong to people",
        "The question asks for rows, or for a column row by row. A row is somebody, and no amount of noise makes a row "
        "both useful and safe: what is true of one person alone must not come out, and a row says nothing else.",
        "Ask about many at once: SELECT education, COUNT(*), AVG(hours) FROM people GROUP BY education. To see what "
        "columns there are, `sfumato tables`.",
    ),
    "SF002": Story(
        "a sum or an average needs a public range",
        "One person can move a sum by as much as their own value. Noise must cover the largest value that anyone could "
        "have, and taking that from the rows would give away the richest person's income. So the range is declared, from "
        "public knowledge: an age is between 0 and 120, a working week between 0 and 99 hours. Values outside are moved "
        "to its ends.",
        "Let the owner write range = [low, high] and why in the column's section of the policy. Until then a whole number "
        "can still be filtered on, or limited in the question: GREATEST(0, LEAST(5000, x)). A column of type number has "
        "no public grid without a range, so until then it can be counted, and nothing else.",
    ),
    "SF003": Story(
        "the budget is short",
        "Every exact-enough answer tells a little about everyone; enough of them tell everything, however each was "
        "blurred. The budget is the most that all answers together may tell, over the whole life of the data set. When "
        "it is gone there are no new answers, only the old ones, which are free for ever.",
        "Ask for less precision (the message says which would fit), ask fewer groups, or replay what was asked before. "
        "`sfumato budget` shows what is left. Only the owner raises a cap, and writes why: `sfumato policy accept`.",
    ),
    "SF004": Story(
        "no price was agreed",
        "An answer costs budget, and nobody should pay without having said how much. The preview is free.",
        "Say how precise it must be, --within 1.0 --at 1000 (half-width of the error, for a group of a thousand), or say "
        "the price yourself, --epsilon 0.1.",
    ),
    "SF005": Story(
        "these groups are not public",
        "Which groups exist can itself be a secret: a diagnosis that appears in an answer says that someone here has it. "
        "Groups are shown freely only when their list is public and declared; then every one of them appears, empty or "
        "not. Otherwise a group appears only above a threshold, which costs delta.",
        'Declare the list in the policy, values = ["F", "M"] or values = "csv:FILE:COLUMN"; or values = "private", and '
        "pay for the threshold. Where the message counts cells, the lists are public and there are too many combinations: "
        "an answer has one cell for each of them, a million at most. Group by fewer columns, or by coarser ones.",
    ),
    "SF006": Story(
        "rows are protected, people are not",
        "The policy protects each row by itself, while a column that tells people apart repeats. Someone with twelve "
        "rows then gets a twelfth of the protection: the promise of epsilon becomes one of twelve epsilon.",
        'Name the unit: kind = "person" in [unit], unit = COLUMN in the table, and max_rows, the most rows of one '
        "person that may count. Only `sfumato policy check --scan` looks at the rows, and it is for the owner.",
    ),
    "SF007": Story(
        "delta is too large",
        "Delta is the probability that the promise fails altogether. A mechanism that publishes one row at random out of "
        "n keeps a promise with delta = 1/n, so a delta near one over the number of people protects nobody in particular.",
        "Take delta far below 1/size; 1e-6 is usual. Declare size, the public and approximate number of rows, in "
        "[dataset].",
    ),
    "SF008": Story(
        "already answered",
        "Asking the same question again with fresh noise and averaging would wash the noise out. The same question gets "
        "the same answer, and costs the data set nothing.",
        "To know more, pay more: `sfumato refine` buys a better answer and pools it with the old one.",
    ),
    "SF009": Story(
        "a filter that looks at one person",
        "It is allowed, because it is safe: the noise that hides one person among thousands also hides one person alone. "
        "What comes out is noise.",
        "Nothing needs to be done. Keep the budget for questions about many.",
    ),
    "SF010": Story(
        "a join that could multiply someone",
        "Joined to ten rows, one person counts ten times, and noise made for one hides only a tenth of them. A join is "
        "allowed where that cannot happen: to a public table on a key that is unique, or between private tables on the "
        "unit itself.",
        "Join on the unit, or declare unique = [KEY] for the public table if it is.",
    ),
    "SF011": Story(
        "a smallest or a largest value is somebody",
        "MIN and MAX are the value of one person, and one person can move them all the way. No noise that hides that "
        "leaves anything.",
        "Ask for a quantile: QUANTILE(income, 0.99) instead of MAX, QUANTILE(income, 0.01) instead of MIN. Its bar is in "
        "ranks, and the preview prints it before anything is paid.",
    ),
    "SF012": Story(
        "the groups are too small for this price",
        "The noise does not depend on the size of a group, so small groups drown in it. The policy's public sizes say "
        "that most of these would.",
        "Ask coarser groups, or pay more for this one question. The warning costs nothing and stops nothing.",
    ),
    "SF013": Story(
        "the ledger does not verify",
        "Every charge is a link of a chain, signed with a key that is kept elsewhere, and the last link seen is "
        "remembered. Something was changed, removed, or put back from an old copy, so nobody can say what was spent: a "
        "copy from last month would let the same budget be spent twice.",
        "`sfumato ledger verify` says where. Restore the newest backup, or the key if it is missing; nothing else lets "
        "questions go on.",
    ),
    "SF014": Story(
        "two writers, a lock that does not open, or a ledger out of reach",
        "Charges are written one after the other, because two that are written at once could both believe that they "
        "still fit. Someone has held the ledger for too long, or the database that holds it cannot be reached: without a "
        "charge written down, nothing is computed.",
        "Find the process that hangs and end it; a charge that it had written stays, and its question can be asked again "
        "for free. If the ledger is in PostgreSQL, check that the server runs and that you may connect.",
    ),
    "SF015": Story(
        "noise cannot be seeded",
        "Whoever knows the seed can compute the noise, take it away, and read the exact answer.",
        "Leave the seed out. Lessons and toy data accept one, and stamp what they print TOY.",
    ),
    "SF016": Story(
        "epsilon is very large",
        "Epsilon bounds what anyone can learn about one person: a guess that was right with 50 % becomes right with at "
        "most e^epsilon / (1 + e^epsilon). At 1 that is 73 %, at 3 it is 95 %, at 10 it is 99.995 %, which is not a "
        "protection that can be explained to that person.",
        "Most policies stay at 3 or below for the whole life of a data set. The policy is accepted as it is.",
    ),
    "SF017": Story(
        "the policy and the ledger disagree about the budget",
        "People were protected by the cap that the ledger knows, and by what its amounts were about. Raising the cap, or "
        "protecting something else, is a decision that somebody takes and signs with a reason, not an edit.",
        '`sfumato policy diff OLD NEW` says what it does to people; `sfumato policy accept --reason "..."` writes it into '
        "the ledger. Accountant and neighbours cannot change once something was spent.",
    ),
    "SF018": Story(
        "k-anonymity is not differential privacy",
        "A table in which everyone looks like k others can still say what all of those k have in common, and two such "
        "tables of the same people can be intersected. It has no budget, and it composes with nothing.",
        "Use `sfumato anonymise` for what it is, and a release for a promise that adds up.",
    ),
    "SF019": Story(
        "the source is not what the policy says",
        "A column is missing or has another type, or a file has changed while its version stayed the same. Answers would "
        "be about something else than what was declared; and a changed file under one version would let the same "
        "question be answered twice, whose difference is exactly whoever came or left.",
        "Correct the policy or the source; when the rows are new, say so: `sfumato version NAME`.",
    ),
    "SF020": Story(
        "a count can be negative",
        "Noise is as often negative as positive, so a count of few or of nobody often comes out below zero. It is shown as "
        "zero unless the policy says otherwise. That costs something: cut at zero, small groups look larger than they are, "
        "and sums over many of them drift upwards. The unbiased value stays beside it, and bars stand around that one.",
        "Use the unbiased value (the column n_unbiased of Arrow, CSV and data frames) for sums and comparisons; "
        "answer.total() does. post_process = [] under [answers] in the policy shows and sorts by the "
        'unbiased values themselves; post_process = ["nonnegative"], or no word of it, shows zero.',
    ),
    "SF021": Story(
        "this is not on the list",
        "Only what is known to be safe is done, and nothing is dropped in silence: a clause that was ignored would make "
        "an answer to another question. Functions that fail on some values are left out too, because failing tells that "
        "such a value exists.",
        "The message says where it stands in the text. Ask the same with what is on the list; inside one person, in a "
        "subquery grouped by the unit, much more is allowed.",
    ),
    "SF022": Story(
        "the policy hides this column",
        "A column that the policy does not name is hidden: nobody can select it, filter on it or group by it. That is "
        "the default, so that nothing is opened by forgetting it.",
        "`sfumato tables` lists what may be named. The owner opens a column by declaring it.",
    ),
}
