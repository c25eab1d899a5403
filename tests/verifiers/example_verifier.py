"""A user's own verifier, as the documentation shows it: one path, accepted whole or not at all."""

from nodebudget.verifiers import AcceptanceLaw, DraftTree


def nothing(tree: DraftTree) -> AcceptanceLaw:
    """Accept no drafted token and draw the next one from the target: lossless, and useless."""
    joint = tree.target * 0
    joint[0] = tree.target[0]
    return AcceptanceLaw.from_joint(tree, joint)


not_a_function = 3
