// A module for Skyscraper: titles, texts, years and covers of the Cover Catalogue, by file names.
//
// It needs COVER_CATALOGUE_URL, which ends with /api/v1, and the key: `userCreds` of config.ini or
// COVER_CATALOGUE_KEY.
#ifndef COVERCATALOGUE_H
#define COVERCATALOGUE_H

#include "abstractscraper.h"
#include "nametools.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTimer>
#include <QUrl>
#include <cstdio>

class CoverCatalogue : public AbstractScraper {
public:
    CoverCatalogue(Settings *config, QSharedPointer<NetManager> manager)
        : AbstractScraper(config, manager, MATCH_ONE) {}

    // What the program's own tables say (aliases, MAME, WHDLoad, ScummVM), or else the name as it is: the API
    // reads tags and extensions, and WHDLoad names itself.
    QList<QString> getSearchNames(const QFileInfo &info, QString &debug) override {
        const QString base = info.completeBaseName();
        QString name = lookupSearchName(info, base, debug);
        if (name == base || name == NameTools::getNameWithSpaces(base))
            return {info.fileName()};
        // A slash stands between two files; "~" between two titles of one.
        return {name.replace('/', '~')};
    }

    void getGameData(GameEntry &game) override {
        const QJsonObject data = found.value(game.url);
        game.description = data["description"].toString();
        game.developer = data["developer"].toString();
        game.publisher = data["publisher"].toString();
        game.tags = data["genres"].toString();
        const QJsonArray files = data["cover"].toObject()["files"].toArray();
        if (!config->cacheCovers || files.isEmpty())
            return;
        // The key is not for the server of the images.
        netComm->request(files.first().toObject()["url"].toString());
        q.exec();
        if (netComm->getHttpStatus() == 200)
            game.coverData = netComm->getData();
    }

protected:
    void getSearchResults(QList<GameEntry> &entries, QString name, QString platform) override {
        const auto encoded = [](const QString &text) -> QString {
            return QUrl::toPercentEncoding(text);
        };
        const QString regions = QStringList(regionPrios).mid(0, 16).join(',');
        const QString query = "/match?include=cover&platform=" + encoded(platform) +
                              "&prefer=" + encoded(regions) + "&names=" + encoded(name);
        const QJsonObject data = get(query)["data"].toArray().first().toObject()["game"].toObject();
        if (data.isEmpty())
            return;
        GameEntry game;
        game.title = data["title"].toString();
        game.platform = data["platform"].toObject()["name"].toString();
        game.releaseDate = data["release_year"].toVariant().toString();
        game.url = data["url"].toString();
        found.insert(game.url, data);
        entries.append(game);
    }

private:
    QString key() const {
        const QString own = config->userCreds;
        return own.isEmpty() ? qEnvironmentVariable("COVER_CATALOGUE_KEY") : own;
    }

    // Waits as long as a 429 or 503 asks for. Another error ends the run: it would come again.
    QJsonObject get(const QString &query) {
        for (;;) {
            netComm->request(qEnvironmentVariable("COVER_CATALOGUE_URL") + query, QString(),
                             {{"X-Api-Key", key()}});
            q.exec();
            const int seconds = netComm->getHeaderValue("Retry-After").toInt();
            const QJsonObject body = QJsonDocument::fromJson(netComm->getData()).object();
            if (netComm->getHttpStatus() == 200)
                return body;
            if (seconds == 0) {
                fprintf(stderr, "Cover Catalogue: %s\n", qPrintable(body["error"].toString()));
                reqRemaining = 0;
                return {};
            }
            QTimer::singleShot(seconds * 1000, &q, &QEventLoop::quit);
            q.exec();
        }
    }

    QHash<QString, QJsonObject> found;
};

#endif
