from athand.flows.browser.service import Browser

__all__ = ["Browser"]
