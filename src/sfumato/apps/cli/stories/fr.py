"""Les récits en français."""

from __future__ import annotations

from sfumato.apps.cli.stories import Story

STORIES: dict[str, Story] = {
    "SF001": Story(
        "les lignes sont à des personnes",
        "La question demande des lignes, ou une colonne ligne à ligne. Une ligne, c'est quelqu'un, et aucun bruit ne la "
        "rend à la fois utile et sûre : ce qui n'est vrai que d'une personne ne doit pas sortir, et une ligne ne dit rien "
        "d'autre.",
        "Interroger beaucoup de monde à la fois : SELECT education, COUNT(*), AVG(hours) FROM people GROUP BY education. "
        "`sfumato tables` montre les colonnes.",
    ),
    "SF002": Story(
        "une somme ou une moyenne demande des bornes publiques",
        "Une personne peut déplacer une somme de toute sa valeur. Le bruit doit couvrir la plus grande valeur possible, "
        "et la prendre dans les lignes livrerait le revenu du plus riche. Les bornes sont donc déclarées, à partir de ce "
        "que chacun sait : un âge est entre 0 et 120, une semaine de travail entre 0 et 99 heures. Ce qui dépasse est "
        "ramené aux bornes.",
        "Le propriétaire écrit range = [bas, haut] et why dans la section de la colonne. D'ici là on peut "
        "filtrer sur un entier, ou le limiter dans la question : GREATEST(0, LEAST(5000, x)). Une colonne de type number "
        "n'a pas de grille publique sans bornes : d'ici là on peut la compter, et rien d'autre.",
    ),
    "SF003": Story(
        "le budget ne suffit pas",
        "Toute réponse assez exacte dit un peu de chacun ; assez de réponses disent tout, si floues soient-elles. Le "
        "budget est le plus que toutes les réponses ensemble peuvent dire, pendant toute la vie du jeu de données. "
        "Quand il est épuisé il n'y a plus de réponse nouvelle, seulement les anciennes, gratuites à jamais.",
        "Demander moins de précision (le message dit laquelle tiendrait), moins de groupes, ou relire ce qui a déjà été "
        "demandé. `sfumato budget` montre le reste. Seul le propriétaire relève un plafond, et écrit pourquoi : "
        "`sfumato policy accept`.",
    ),
    "SF004": Story(
        "aucun prix n'a été convenu",
        "Une réponse coûte du budget, et personne ne doit payer sans avoir dit combien. L'aperçu est gratuit.",
        "Dire la précision voulue, --within 1.0 --at 1000 (demi-largeur de l'erreur, pour un groupe de mille), ou le prix "
        "lui-même, --epsilon 0.1.",
    ),
    "SF005": Story(
        "ces groupes ne sont pas publics",
        "L'existence d'un groupe peut être un secret : un diagnostic qui figure dans une réponse dit que quelqu'un ici "
        "l'a. Les groupes ne sont montrés librement que si leur liste est publique et déclarée ; tous figurent alors, "
        "vides ou non. Sinon un groupe ne figure qu'au-dessus d'un seuil, qui coûte du delta.",
        'Déclarer la liste dans la politique, values = ["F", "M"] ou values = "csv:FICHIER:COLONNE" ; ou '
        'values = "private", et payer le seuil. Quand le message compte des cases, les listes sont publiques mais leurs '
        "combinaisons trop nombreuses : une réponse a une case pour chacune, un million au plus. Grouper par moins de "
        "colonnes, ou plus grossièrement.",
    ),
    "SF006": Story(
        "les lignes sont protégées, pas les personnes",
        "La politique protège chaque ligne seule, alors qu'une colonne qui distingue les personnes se répète. Qui a "
        "douze lignes n'a qu'un douzième de la protection : la promesse d'epsilon devient celle de douze epsilon.",
        'Nommer l\'unité : kind = "person" dans [unit], unit = COLONNE dans la table, et max_rows, le plus de lignes '
        "d'une personne qui puissent compter. Seul `sfumato policy check --scan` regarde les lignes, pour le "
        "propriétaire.",
    ),
    "SF007": Story(
        "delta est trop grand",
        "Delta est la probabilité que la promesse tombe tout entière. Publier une ligne au hasard parmi n tient une "
        "promesse avec delta = 1/n : un delta proche de un sur le nombre de personnes ne protège personne en "
        "particulier.",
        "Prendre delta bien en dessous de 1/size ; 1e-6 est d'usage. Déclarer size, le nombre de lignes public et "
        "approximatif, dans [dataset].",
    ),
    "SF008": Story(
        "déjà répondu",
        "Reposer la même question avec un bruit neuf et faire la moyenne effacerait le bruit. La même question reçoit la "
        "même réponse, et ne coûte rien au jeu de données.",
        "Pour en savoir plus, payer plus : `sfumato refine` achète une meilleure réponse et la combine avec l'ancienne.",
    ),
    "SF009": Story(
        "un filtre qui regarde une seule personne",
        "C'est permis, parce que c'est sûr : le bruit qui cache une personne parmi des milliers cache aussi une personne "
        "seule. Ce qui sort est du bruit.",
        "Rien à faire. Garder le budget pour des questions sur beaucoup de monde.",
    ),
    "SF010": Story(
        "une jointure qui pourrait multiplier quelqu'un",
        "Jointe à dix lignes, une personne compte dix fois, et le bruit fait pour une n'en cache qu'un dixième. Une "
        "jointure est permise là où cela ne peut arriver : vers une table publique sur une clé unique, ou entre tables "
        "privées sur l'unité même.",
        "Joindre sur l'unité, ou déclarer unique = [CLÉ] pour la table publique si elle l'est.",
    ),
    "SF011": Story(
        "un minimum ou un maximum, c'est quelqu'un",
        "MIN et MAX sont la valeur d'une personne, qui peut à elle seule les déplacer d'un bout à l'autre. Un bruit qui "
        "le cacherait ne laisserait rien.",
        "Demander un quantile : QUANTILE(revenu, 0.99) au lieu de MAX, QUANTILE(revenu, 0.01) au lieu de MIN. Sa barre "
        "est en rangs, et l'aperçu l'imprime avant que rien ne soit payé.",
    ),
    "SF012": Story(
        "les groupes sont trop petits pour ce prix",
        "Le bruit ne dépend pas de la taille d'un groupe : les petits s'y noient. D'après les tailles publiques de la "
        "politique, ce serait le cas de la plupart.",
        "Demander des groupes plus larges, ou payer plus pour cette seule question. L'avertissement ne coûte ni "
        "n'arrête rien.",
    ),
    "SF013": Story(
        "le registre ne se vérifie pas",
        "Chaque dépense est un maillon d'une chaîne, signée par une clé gardée ailleurs, et le dernier maillon vu est "
        "retenu. Quelque chose a été changé, ôté, ou remis d'une vieille copie : nul ne peut dire ce qui a été dépensé ; "
        "une copie du mois passé permettrait de dépenser deux fois le même budget.",
        "`sfumato ledger verify` dit où. Restaurer la sauvegarde la plus récente, ou la clé si elle manque ; rien d'autre "
        "ne permet de continuer.",
    ),
    "SF014": Story(
        "deux écrivains, un verrou qui ne s'ouvre pas, ou un registre hors d'atteinte",
        "Les dépenses s'écrivent l'une après l'autre, car deux écrites à la fois pourraient croire toutes deux qu'elles "
        "tiennent encore. Quelqu'un tient le registre depuis trop longtemps, ou la base de données qui le garde est hors "
        "d'atteinte : sans dépense inscrite, rien n'est calculé.",
        "Trouver le processus bloqué et l'arrêter ; une dépense déjà écrite reste, et sa question se repose "
        "gratuitement. Si le registre est dans PostgreSQL, vérifier que le serveur tourne et que l'on peut s'y connecter.",
    ),
    "SF015": Story(
        "le bruit n'a pas de graine",
        "Qui connaît la graine calcule le bruit, l'enlève, et lit la réponse exacte.",
        "Ne pas donner de graine. Les leçons et les données jouets en acceptent une, et marquent TOY ce qu'elles "
        "impriment.",
    ),
    "SF016": Story(
        "epsilon est très grand",
        "Epsilon borne ce que quiconque apprend d'une personne : une supposition juste à 50 % devient juste à au plus "
        "e^epsilon / (1 + e^epsilon). À 1 c'est 73 %, à 3 c'est 95 %, à 10 c'est 99,995 %, ce qui n'est pas une "
        "protection que l'on puisse expliquer à cette personne.",
        "La plupart des politiques restent à 3 ou moins pour toute la vie d'un jeu de données. La politique est acceptée "
        "telle quelle.",
    ),
    "SF017": Story(
        "la politique et le registre ne s'accordent pas sur le budget",
        "Les personnes étaient protégées par le plafond que le registre connaît, et par ce dont parlent ses montants. "
        "Relever le plafond, ou protéger autre chose, est une décision que quelqu'un prend et signe avec une raison, pas "
        "une retouche.",
        '`sfumato policy diff ANCIENNE NOUVELLE` dit ce que cela fait aux personnes ; `sfumato policy accept --reason "..."` '
        "l'écrit dans le registre. Le mode de compte et les voisins ne changent plus dès que quelque chose est dépensé.",
    ),
    "SF018": Story(
        "le k-anonymat n'est pas la confidentialité différentielle",
        "Une table où chacun ressemble à k autres peut encore dire ce que ces k ont en commun, et deux telles tables des "
        "mêmes personnes se croisent. Elle n'a pas de budget et ne se compose avec rien.",
        "Prendre `sfumato anonymise` pour ce qu'il est, et une publication pour une promesse qui s'additionne.",
    ),
    "SF019": Story(
        "la source n'est pas ce que dit la politique",
        "Une colonne manque ou a un autre type, ou un fichier a changé sous la même version. Les réponses parleraient "
        "d'autre chose que ce qui est déclaré ; et un fichier changé sous une même version laisserait répondre deux fois "
        "à la même question, dont la différence est justement qui est venu ou parti.",
        "Corriger la politique ou la source ; si les lignes sont nouvelles, le dire : `sfumato version NOM`.",
    ),
    "SF020": Story(
        "un compte peut être négatif",
        "Le bruit est aussi souvent négatif que positif : le compte de peu de gens, ou de personne, sort souvent sous zéro. "
        "Il est montré comme zéro, sauf si la politique en dit autrement. Cela a un prix : coupés à zéro, les petits groupes "
        "paraissent plus grands qu'ils ne sont, et les sommes de beaucoup d'entre eux dérivent vers le haut. La valeur sans "
        "biais reste à côté, et les barres l'entourent.",
        "Prendre la valeur sans biais (la colonne n_unbiased d'Arrow, du CSV et des tables de données) pour les sommes et les "
        "comparaisons ; answer.total() le fait. post_process = [] sous [answers] dans la politique montre "
        'et trie les valeurs sans biais elles-mêmes ; post_process = ["nonnegative"], ou rien, montre zéro.',
    ),
    "SF021": Story(
        "ceci n'est pas sur la liste",
        "Seul ce qui est connu pour sûr est fait, et rien n'est omis en silence : une clause ignorée donnerait la réponse "
        "à une autre question. Les fonctions qui échouent sur certaines valeurs sont écartées aussi, car l'échec dit "
        "qu'une telle valeur existe.",
        "Le message dit où cela se trouve dans le texte. Demander la même chose avec ce qui est sur la liste ; à "
        "l'intérieur d'une personne, dans une sous-requête groupée par l'unité, bien plus est permis.",
    ),
    "SF022": Story(
        "la politique cache cette colonne",
        "Une colonne que la politique ne nomme pas est cachée : on ne peut ni la lire, ni filtrer, ni grouper par elle. "
        "C'est le défaut, pour que rien ne s'ouvre par oubli.",
        "`sfumato tables` montre ce qui peut être nommé. Le propriétaire ouvre une colonne en la déclarant.",
    ),
}
