"""The files of the web page that `athand serve` shows to people; adapters.http serves them."""
