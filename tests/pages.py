"""What a page of HTML consists of, for tests."""

from html.parser import HTMLParser

VOID = ("meta", "link", "br", "img", "input")


class Outline(HTMLParser):
    """The tags of a page in their order, each checked to be closed by its own kind, and its texts."""

    def __init__(self, page):
        super().__init__()
        self.open, self.seen, self.text = [], [], []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), (tag, attrs)
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data.strip())

    def values(self, attribute):
        """The values of an attribute, in the order of the page."""
        return [attrs[attribute] for _, attrs in self.seen if attribute in attrs]
