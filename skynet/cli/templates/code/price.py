def run(input):
    """Return the price in cents."""
    digits = "".join(letter for letter in input["text"] if letter.isdigit() or letter == ".")
    whole, _, cents = digits.partition(".")
    return int(whole or 0) * 100 + int(cents or 0)
