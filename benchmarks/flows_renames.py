"""Healing on renames and removals in the manner of public front ends: whole pages at once, described and not copied.

A page is a list of elements as they were and as they are after a redesign: kept, renamed, gone, new. Every renamed
element should be found, for every one that is gone healing should abstain. The pages with an even number chose the
thresholds, the others are reported.

    python -m benchmarks.flows_renames
"""

import re
from collections import Counter
from datetime import UTC, datetime
from zlib import crc32

from athand.flows.model import Observation, Step
from athand.flows.replay.healing import Heal, heal

# One element a line: `kept`, `gone`, `new`, or `role id "name" -> id "name"`; `-` is no test id.
PAGES = {
    "first password": """
        kept heading - "Create a password"
        textbox create-password-new "New password" -> create-password-new-input "New password (8 characters min)"
        textbox create-password-confirm "Confirm password" -> create-password-confirm-input "Confirm your password"
        checkbox create-password-terms "I understand that this cannot be recovered" -> create-password-terms-checkbox ""
        button create-password-wallet "Create a new wallet" -> create-password-submit "Create password"
        link create-password-learn "Learn more" -> password-learn-more "Learn more about passwords"
        button create-password-show "Show" -> toggle-password-visibility "Show password"
        gone button create-password-import "Import my wallet"
        gone link onboarding-terms-link "Terms of use"
        gone button onboarding-metrics-agree "I agree"
        gone checkbox onboarding-marketing "Send me news"
        new button passkey-offer "Use a passkey"
        new link support "Help"
    """,
    "wallet settings": """
        kept heading - "Security"
        checkbox autoDetectTokens "" -> autodetect-tokens "Autodetect tokens"
        checkbox autoDetectNft "" -> autodetect-nfts "Autodetect NFTs"
        checkbox useSafeChainsList "" -> use-safe-chains-list-toggle ""
        checkbox ipfsGatewayToggle "" -> ipfs-gateway "IPFS gateway"
        button reveal-seed-words "Reveal secret recovery phrase" -> reveal-recovery-phrase "Reveal recovery phrase"
        textbox custom-rpc-url "New RPC URL" -> network-form-rpc-url "RPC URL"
        textbox custom-chain-id "Chain ID" -> network-form-chain-id "Chain ID"
        textbox custom-symbol "Currency symbol" -> network-form-ticker-input "Currency symbol"
        button settings-save "Save" -> network-form-save "Save changes"
        gone checkbox phishing-detection "Use phishing detection"
        gone checkbox showIncomingTransactions ""
        gone button clear-activity "Clear activity tab data"
        gone combobox currency-select "Currency"
        new checkbox basic-functionality "Basic functionality"
        new button backup-sync "Backup and sync"
    """,
    "assets": """
        kept heading - "Assets"
        tab home__nfts-tab "NFTs" -> account-overview__nft-tab "NFT"
        tab home__activity-tab "Activity" -> account-overview__activity "Activity"
        tab home__asset-tab "Tokens" -> account-overview__asset "Tokens"
        button import-token-button "+ Import tokens" -> asset-list-import-tokens "Import"
        button refresh-list-button "Refresh list" -> refreshList "Refresh list"
        link multichain-token-list-item-0 "Ethereum" -> multichain-token-list-button-0 "Ethereum"
        button sort-by-popover-toggle "Sort by" -> sort-by-networks "Sort"
        button network-display "Ethereum Mainnet" -> network-picker "All networks"
        button eth-overview-receive "Receive" -> coin-overview-receive "Receive"
        gone button eth-overview-portfolio "Portfolio"
        gone link home__survey "Give feedback"
        gone button import-nfts-button "Import NFTs"
        gone tab home__defi-tab "DeFi"
        new button hide-zero-balances "Hide zero balances"
        new tab account-overview__perps "Perpetuals"
    """,
    "confirmation": """
        kept heading - "Transaction request"
        button page-container-footer-next "Confirm" -> confirm-footer-button "Confirm"
        button page-container-footer-cancel "Reject" -> confirm-footer-cancel-button "Cancel"
        button edit-gas-fee-icon "Edit" -> edit-gas-fees-row "Edit network fee"
        button sender-address-copy "" -> copy-sender-address ""
        button confirm-nonce-edit "" -> edit-nonce-icon "Edit nonce"
        textbox custom-nonce-input "Nonce" -> custom-nonce "Custom nonce"
        button transaction-details-toggle "Details" -> header-advanced-details-button "Advanced details"
        link address-explorer "View on explorer" -> block-explorer-link "View in block explorer"
        tab data-tab "Hex" -> advanced-details-data-section "Data"
        gone checkbox approve-all "Do not ask again"
        gone button insight-open "Insights"
        gone link transaction-speed-up "Speed up"
        gone button reject-all "Reject all"
        new button simulation-details "Estimated changes"
        new link learn-fees "What are network fees?"
    """,
    "greeting": """
        kept heading - "Greetings"
        textbox - "Your name" -> - "Name"
        button - "Greet me" -> - "Greet now"
        button - "Clear the form" -> - "Clear"
        checkbox - "Shout it" -> - "Shout"
        slider - "How often" -> - "How many times"
        combobox - "Choose a language" -> - "Language"
        button - "Flag this" -> - "Flag"
        link - "Use via the API" -> - "View API"
        gone button - "Load examples"
        gone link - "Built with care"
        gone checkbox - "Remember me"
        new link - "Settings"
        new button - "Stop"
    """,
    "account": """
        kept heading - "Profile"
        textbox firstName "First name" -> given-name-input "Given name"
        textbox lastName "Last name" -> family-name-input "Family name"
        textbox userEmail "Email" -> email-address "Email address"
        textbox userPhone "Phone" -> phone-number-field "Mobile phone"
        textbox currentPassword "Current password" -> password-current "Old password"
        textbox newPassword "New password" -> password-new "New password"
        button saveProfile "Save" -> profile-submit "Update profile"
        button uploadAvatar "Upload picture" -> avatar-upload-button "Upload photo"
        button deleteAccount "Delete account" -> account-delete "Delete your account"
        gone button exportData "Export data"
        gone textbox companyName "Company"
        gone checkbox newsletter "Subscribe to the newsletter"
        gone button removeAvatar "Remove picture"
        gone link publicProfile "View public profile"
        new button two-factor "Two-factor authentication"
        new textbox job-title "Job title"
    """,
    "cart": """
        kept heading - "Your cart"
        button cart-qty-plus "+" -> quantity-increment "Increase quantity"
        button cart-qty-minus "-" -> quantity-decrement "Decrease quantity"
        button cart-remove "Remove" -> line-item-remove-button "Remove item"
        textbox coupon "Coupon code" -> discount-code-input "Discount code"
        button coupon-apply "Apply" -> discount-code-apply "Apply code"
        button checkout "Checkout" -> proceed-to-checkout "Proceed to checkout"
        link continue-shopping "Continue shopping" -> back-to-shop "Keep shopping"
        button cart-save-later "Save for later" -> save-for-later "Save for later list"
        combobox shipping-country "Country" -> shipping-address-country "Country/region"
        textbox shipping-zip "ZIP" -> shipping-address-postcode "ZIP code"
        gone button gift-wrap "Add gift wrap"
        gone link shipping-info "Shipping information"
        gone button cart-empty "Empty cart"
        gone checkbox insurance "Add insurance"
        new button express-pay "Express pay"
        new button share-list "Share"
    """,
    "issues": """
        kept heading - "Issues"
        link new_issue_link "New issue" -> create-issue-button "New issue button"
        searchbox issue-search "Search all issues" -> issues-search-input "Search issues"
        button label-filter "Label" -> labels-filter-menu "Labels"
        button author-filter "Author" -> authors-filter-menu "Authors"
        button assignee-filter "Assignee" -> assignees-filter-menu "Assigned to"
        button milestone-filter "Milestones" -> milestones-filter-menu "Milestone"
        textbox issue_title "Title" -> issue-create-title "Add a title"
        textbox issue_body "Leave a comment" -> markdown-editor "Add a description"
        button issue_submit "Submit new issue" -> create-issue "Create"
        button lock-issue "Lock conversation" -> sidebar-lock-conversation "Lock this conversation"
        gone button pin-issue "Pin issue"
        gone link transfer-issue "Transfer issue"
        gone button issue-subscribe "Subscribe"
        gone tab open-tab "Open"
        gone button convert-discussion "Convert to discussion"
        new button create-more "Create more"
        new button copilot "Ask for help"
    """,
    "dashboards": """
        kept heading - "Home"
        button add-panel-button "Add panel" -> data-testid-add-visualization "Add visualization"
        button save-dashboard-button "Save dashboard" -> data-testid-save-dashboard "Save"
        button share-dashboard "Share dashboard or panel" -> data-testid-share "Share"
        button dashboard-settings "Dashboard settings" -> data-testid-dashboard-settings "Settings"
        button timepicker-open "Time range picker" -> data-testid-time-range "Time range"
        button refresh-dashboard "Refresh" -> data-testid-refresh "Refresh dashboard"
        button cycle-view "Cycle view mode" -> data-testid-kiosk "View mode"
        textbox panel-title "Panel title" -> data-testid-panel-title-input "Title"
        textbox query-editor "Query" -> data-testid-query-field "Enter a query"
        button run-query "Run query" -> data-testid-run "Run queries"
        gone button star-dashboard "Mark as favorite"
        gone link dashboard-docs "Documentation"
        gone button tv-mode "TV mode"
        gone button explore-open "Explore"
        gone button panel-duplicate "Duplicate"
        new button data-testid-ai "Explain"
        new link data-testid-export "Export"
    """,
    "login": """
        kept heading - "Welcome"
        textbox login-username "Username or email" -> identifier "Email or username"
        textbox login-password "Password" -> login-form-password-field "Your password"
        button login-submit "Log In" -> sign-in-button "Sign in"
        link forgot "Forgot your password?" -> reset-password-link "Forgot password"
        link signup "Sign up for an account" -> create-account-link "Sign up"
        checkbox remember "Remember me" -> stay-signed-in "Keep me signed in"
        button oauth-google "Log in with Google" -> social-google-button "Continue with Google"
        button oauth-github "Log in with GitHub" -> social-github-button "Continue with GitHub"
        gone button oauth-twitter "Log in with Twitter"
        gone link sso "Use single sign-on"
        gone checkbox terms "I accept the terms"
        gone button captcha-refresh "New image"
        new button passkey "Use a passkey"
        new link privacy "Privacy"
    """,
    "chat": """
        kept heading - "General"
        textbox msg-input "Message #general" -> message-composer "Write to #general"
        button msg-send "Send" -> composer-send-button "Send now"
        button emoji-toggle "" -> composer-emoji-picker ""
        button file-attach "" -> composer-attach-files ""
        button threadReply "Reply in thread" -> thread-reply-button "Reply"
        button pinMessage "Pin" -> pin-message-action "Pin to channel"
        button editMessage "Edit" -> edit-message-action "Edit message"
        button deleteMessage "Delete" -> delete-message-action "Delete message"
        button channelMembers "12" -> channel-members-button "12 members"
        button leaveChannel "Leave" -> channel-leave "Leave channel"
        gone button startCall "Call"
        gone button muteChannel "Mute"
        gone link channelArchive "Archive"
        gone button quoteMessage "Quote"
        new button summarize "Summarize"
        new button huddle "Start huddle"
    """,
    "files": """
        kept heading - "Files"
        button upload-file "Upload" -> files-upload-button "Upload files"
        button new-folder "New folder" -> create-folder-button "Create folder"
        button download-selected "Download" -> bulk-download "Download selected"
        button delete-selected "Delete" -> bulk-delete "Delete selected"
        button move-selected "Move" -> bulk-move "Move selected"
        button renameItem "Rename" -> item-rename "Rename item"
        checkbox select-all-rows "Select all" -> selectAll "Select all files"
        button view-grid "Grid" -> layout-grid-view "Grid view"
        button view-list "List" -> layout-list-view "List view"
        searchbox file-search "Search" -> files-search "Search in files"
        gone button share-selected "Share"
        gone button restore-selected "Restore"
        gone link trash-bin "Trash"
        gone button empty-trash "Empty trash"
        gone button star-selected "Add star"
        new button scan "Scan"
        new link activity "Activity log"
    """,
    "admin": """
        kept heading - "Select group to change"
        link - "Add group" -> - "Add a group"
        textbox - "Search groups" -> - "Search"
        combobox - "Action:" -> - "Actions"
        button - "Go" -> - "Run"
        button - "Save and continue editing" -> - "Save and keep editing"
        button - "Save and add another" -> - "Save and create another"
        link - "History" -> - "View history"
        link - "View site" -> - "Open site"
        button - "Log out" -> - "Sign out"
        gone link - "Change password"
        gone link - "Recent actions"
        gone checkbox - "Select all groups"
        gone link - "Next page"
        new link - "Documentation"
        new button - "Toggle theme"
    """,
    "notebook": """
        kept heading - "Launcher"
        button run-cell "Run the selected cells and advance" -> toolbar-run "Run this cell and advance"
        button restart-kernel "Restart the kernel" -> toolbar-restart "Restart kernel"
        button interrupt-kernel "Interrupt the kernel" -> toolbar-interrupt "Interrupt kernel"
        button insert-cell-below "Insert a cell below" -> toolbar-insert "Insert cell below"
        button cut-cells "Cut the selected cells" -> toolbar-cut "Cut this cell"
        button paste-cells "Paste cells from the clipboard" -> toolbar-paste "Paste this cell from the clipboard"
        button save-notebook "Save the notebook contents" -> toolbar-save "Save and create checkpoint"
        combobox cell-type "Cell type" -> toolbar-cell-type "Code cell type"
        menuitem filemenu-open "Open from Path…" -> menu-file-open "Open from path"
        menuitem filemenu-new "New Launcher" -> menu-file-new "New launcher tab"
        gone button debug-toggle "Enable debugger"
        gone button copy-cells "Copy the selected cells"
        gone menuitem filemenu-hub "Hub control panel"
        gone button merge-cells "Merge selected cells"
        gone link kernel-help "Kernel reference"
        new button toolbar-render "Render side by side"
        new menuitem menu-file-share "Share link"
    """,
}
ELEMENT = re.compile(r'(?:(\w+) )?(\S+) "(.*)"')
TAGS = {"link": "a", "heading": "h1", "combobox": "select", "textbox": "input", "checkbox": "input"}


def read_page(text):
    """The elements before and after, and for each that was renamed or is gone: it, and what it is now."""
    then, now, changed = [], [], []
    lines = filter(None, map(str.strip, text.splitlines()))
    for line in sorted(lines, key=lambda line: (not line.startswith("kept"), crc32(line.encode()))):  # mixed
        kind, _, rest = line.partition(" ")
        if kind not in ("kept", "gone", "new"):
            old, new = line.split(" -> ")
            before = ELEMENT.fullmatch(old).groups()
            role, *named = ELEMENT.fullmatch(new).groups()
            after = (role or before[0], *named)
            then.append(before)
            now.append(after)
            changed.append((before, after))
            continue
        element = ELEMENT.fullmatch(rest).groups()
        then += [element] if kind != "new" else []
        now += [element] if kind != "gone" else []
        changed += [(element, None)] if kind == "gone" else []
    return then, now, changed


def observe(elements):
    """What is seen on a page of these elements."""
    nodes = [
        {"ref": f"e{at}", "role": role, "name": name, "path": ["main"], "tag": TAGS.get(role, "button")}
        | ({} if test_id == "-" else {"testId": test_id})
        for at, (role, test_id, name) in enumerate(elements, 1)
    ]
    ids = [
        {"testId": test_id, "tag": TAGS.get(role, "button"), "text": name, "visible": True, "role": role, "name": name}
        for role, test_id, name in elements
        if test_id != "-"
    ]
    return Observation("page", "http://app/", tuple(ids), tuple(nodes))


def without_names(elements):
    """The elements as a list of test ids tells of them; those without one keep their name."""
    return [(role, test_id, name if test_id == "-" else "") for role, test_id, name in elements]


def make_step(element):
    """A step that was done to an element."""
    role, test_id, name = element
    target = ({} if test_id == "-" else {"testId": test_id}) | ({"role": role, "name": name} if name else {})
    verb = {"textbox": "type", "searchbox": "type", "combobox": "select"}.get(role, "click")
    return Step(
        "s", "x", "app", 1, datetime(2026, 1, 1, tzinfo=UTC), verb, verb, {}, target, True, None, (), "page", None
    )


def judge(element, expected, then, now):
    """`right`, `wrong` or `abstained`, and the decision."""
    done = heal(make_step(element), observe(then), observe(now))
    if not isinstance(done, Heal):
        return "abstained", done
    if expected is None:
        return "wrong", done
    role, test_id, name = expected
    found = done.target.get("testId") or (done.target["role"], done.target["name"])
    return ("right" if found in (test_id, (role, name)) else "wrong"), done


def figures(names, *, ids_only=False, verbose=False):
    """How often it is right and wrong on the renames and the removals of some pages."""
    counts = {"renames": Counter(), "removals": Counter()}
    for name in names:
        then, now, changed = read_page(PAGES[name])
        if ids_only:
            then, now = without_names(then), without_names(now)
            pairs = ((without_names([one])[0], other and without_names([other])[0]) for one, other in changed)
            changed = [(one, other) for one, other in pairs if one != other]
        for element, expected in changed:
            outcome, done = judge(element, expected, then, now)
            counts["renames" if expected else "removals"][outcome] += 1
            if verbose and outcome == ("abstained" if expected else "wrong"):
                print(f"    {outcome:10} {name}: {element} -> {expected}: {done.reason}")
    return {kind: dict(each, cases=each.total()) for kind, each in counts.items()}


def measure(*, verbose=False):
    """The figures of the half that chose, and of the other, which is reported: with names, and by test ids alone."""
    names = list(PAGES)
    return {
        f"{half}{', test ids only' if ids_only else ''}": figures(names[start::2], ids_only=ids_only, verbose=verbose)
        for start, half in enumerate(("chosen on", "reported"))
        for ids_only in (False, True)
    }


def main():
    results = measure()
    for half, result in results.items():
        print(f"{half:26} " + "   ".join(f"{kind} {each}" for kind, each in result.items()))
    return results


if __name__ == "__main__":
    main()
