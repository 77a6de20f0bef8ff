chrome.runtime.onInstalled.addListener(() => chrome.tabs.create({ url: "home.html#/unlock" }));
