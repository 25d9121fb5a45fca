"""What a release does not promise, in words: part of every certificate."""

from __future__ import annotations

LIMITS: dict[str, tuple[str, ...]] = {
    "en": (
        "It does not protect against learning facts about groups: what holds of many people is what a release is for, and it "
        "may be said of one of them, whether they took part or not.",
        "It is about this release alone. Other releases about the same people add up: see the total spent, and what was "
        "released without protection.",
        "The bars cover the noise of protection only: not errors of the survey, nor what the bound on rows leaves out.",
        "It protects each unit by itself. People who are always together in the data are protected less, the more they are.",
        "It holds if the policy is right about whose row is whose, and if the ranges and lists were chosen without the rows.",
        "It does not make the source secure: the rows themselves are as safe as the place where they are kept.",
    ),
    "fr": (
        "Elle n’empêche pas d’apprendre des faits sur des groupes : ce qui vaut pour beaucoup de gens est l’objet même d’une "
        "publication, et peut se dire de chacun d’eux, qu’il ait participé ou non.",
        "Elle ne concerne que cette publication. D’autres publications sur les mêmes personnes s’ajoutent : voyez le total "
        "dépensé, et ce qui a été publié sans protection.",
        "Les barres ne couvrent que le bruit de la protection : ni les erreurs de l’enquête, ni ce que la borne sur les lignes "
        "par unité laisse de côté.",
        "Elle protège chaque unité pour elle-même. Des gens toujours ensemble dans les données sont moins protégés, d’autant "
        "qu’ils sont nombreux.",
        "Elle vaut si la politique dit vrai sur qui possède chaque ligne, et si les bornes et les listes ont été choisies sans "
        "regarder les lignes.",
        "Elle ne rend pas la source plus sûre : les lignes elles-mêmes sont aussi sûres que l’endroit où elles sont gardées.",
    ),
}
"""By language, in the same order."""

COVERS = {
    "en": "A bar covers the noise of protection at the stated confidence, one number at a time, and nothing else.",
    "fr": "Une barre couvre le bruit de la protection à la confiance indiquée, un nombre à la fois, et rien d’autre.",
}

BIAS = {
    "en": "Shown numbers are moved to what is possible (a count is not negative, a mean lies in its range), which raises small "
    "counts: an empty group shows half the noise's scale more on average, at most. The columns named _unbiased are as the "
    "noise left them; bars stand around those.",
    "fr": "Les nombres montrés sont ramenés à ce qui est possible (un effectif n’est pas négatif, une moyenne reste dans ses "
    "bornes), ce qui relève les petits effectifs : un groupe vide montre en moyenne, au plus, la moitié de l’échelle du bruit "
    "en trop. Les colonnes nommées _unbiased sont telles que le bruit les a laissées ; les barres les entourent.",
}
"""E[max(0, Z)] is E|Z| / 2 for symmetric Z: a / (1 - a^2) = 1 / (2 sinh(1/b)) <= b/2 for discrete Laplace noise of scale b
(a = e^(-1/b)), and at most half the root of the variance, which is at most sigma, for discrete Gaussian noise."""

UNMOVED = {
    "en": "Nothing was moved after the noise: a count may be negative and a mean outside its range, and no number is too high "
    "or too low on average for that reason.",
    "fr": "Rien n’a été déplacé après le bruit : un effectif peut être négatif, une moyenne hors de ses bornes, et aucun "
    "nombre n’est pour cela trop haut ou trop bas en moyenne.",
}
