"""The one room that scores: a case is run and scored here, the contract check stands here, the budget is kept here."""
